package io.sparkprobe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class FrameNamesTest {
    private static final String[][] CLASSES = {
        {"java/lang/Thread", "java.lang.Thread"},
        {"Job", "Job"},
        {"java/util/Map$Entry", "java.util.Map$Entry"},
        {"[B", "byte[]"},
        {"[[J", "long[][]"},
        {"[Z", "boolean[]"},
        {"[Ljava/lang/String;", "java.lang.String[]"},
        {"[[Lcom/example/Row;", "com.example.Row[][]"},
        {"byte[]", "byte[]"},
        // Lambdas of JDK 8, 17, 21 and of the JDK's own JFR.
        {"com/example/Job$$Lambda$14/1531448569", "com.example.Job$$Lambda"},
        {"com/example/Job$$Lambda$123/0x0000000800c03000", "com.example.Job$$Lambda"},
        {"com/example/Job$$Lambda/0x00007f8177090218", "com.example.Job$$Lambda"},
        {"com/example/Job$$Lambda$123", "com.example.Job$$Lambda"},
        {"com/example/Job$$Lambda+0x00007f8177090218/543846639", "com.example.Job$$Lambda"},
        {"com.example.Job$$Lambda.0x00007f8177090218", "com.example.Job$$Lambda"},
        {"[Lcom/example/Job$$Lambda/0x00007f8177090218;", "com.example.Job$$Lambda[]"},
        {"com/example/Hidden/0x00007f8177090218", "com.example.Hidden"},
        {"com/example/Hidden+0x00007f8177090218", "com.example.Hidden"},
        {"java/lang/invoke/LambdaForm$MH/0x0000000800c03000", "java.lang.invoke.LambdaForm$MH"},
        {"java/lang/invoke/LambdaForm$MH012", "java.lang.invoke.LambdaForm$MH"},
        {"java/lang/invoke/LambdaForm$DMH003/0x000000080", "java.lang.invoke.LambdaForm$DMH"},
        {"java/lang/invoke/LambdaForm$Holder", "java.lang.invoke.LambdaForm$Holder"},
        {"jdk/internal/reflect/GeneratedMethodAccessor12", "jdk.internal.reflect.GeneratedMethodAccessor"},
        {"sun/reflect/GeneratedConstructorAccessor1", "sun.reflect.GeneratedConstructorAccessor"},
        {"sun/reflect/GeneratedSerializationConstructorAccessor7", "sun.reflect.GeneratedSerializationConstructorAccessor"},
        {"com/sun/proxy/$Proxy17", "com.sun.proxy.$Proxy"},
        {"jdk/proxy2/$Proxy17", "jdk.proxy.$Proxy"},
        {"$Proxy3", "$Proxy"},
        {"com/example/MyProxy17", "com.example.MyProxy17"},
        {"com/example/$ProxyMaker", "com.example.$ProxyMaker"},
        // Codegen stages stay apart, and Scala's names have numbers that mean something.
        {"org/apache/spark/sql/catalyst/expressions/GeneratedClass$GeneratedIteratorForCodegenStage3",
            "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage3"},
        {"org/apache/spark/rdd/RDD$$anon$1", "org.apache.spark.rdd.RDD$$anon$1"},
        {"$line14/$read$$iw", "$line14.$read$$iw"},
    };

    private static final String[][] SYMBOLS = {
        {"start_thread", "start_thread"},
        {"__memmove_avx_unaligned_erms", "__memmove_avx_unaligned_erms"},
        {"deflate_fast+0x1a", "deflate_fast"},
        {"G1ParScanThreadState::trim_queue", "G1ParScanThreadState::trim_queue"},
        {"ZSTD_compressBlock.isra.0", "ZSTD_compressBlock"},
        {"foo.part.1", "foo"},
        {"foo.constprop.2", "foo"},
        {"foo.cold", "foo"},
        {"foo.constprop.0.isra.0.cold", "foo"},
        {"ZSTD_RowFindBestMatch_noDict_5_4.lto_priv.0", "ZSTD_RowFindBestMatch_noDict_5_4"},
        {"Foo::bar(int) [clone .isra.0]", "Foo::bar(int)"},
        {"operator+", "operator+"},
        {"a+0xzz", "a+0xzz"},
        {"lib.so.6", "lib.so.6"},
        {"std::vector<int>::at.12", "std::vector<int>::at.12"},
        {"", ""},
    };

    @Test
    public void classNames() {
        for (String[] pair : CLASSES) {
            assertEquals(pair[0], pair[1], FrameNames.className(pair[0]));
            if (!pair[1].endsWith("]")) {
                assertEquals("once more changes nothing", pair[1], FrameNames.className(pair[1]));
            }
        }
    }

    @Test
    public void nativeNames() {
        for (String[] pair : SYMBOLS) {
            assertEquals(pair[0], pair[1], FrameNames.nativeName(pair[0]));
        }
    }

    @Test
    public void linesAreKeptForUsersCodeOnly() {
        for (String name : new String[] {"com.example.Job", "Job", "org.apache.hadoop.fs.Path", "javafoo.Bar",
            "scalaz.Monad", "org.apache.sparkle.X"}) {
            assertTrue(name, FrameNames.keepsLines(name));
        }
        for (String name : new String[] {"java.util.List", "javax.crypto.Cipher", "jdk.internal.misc.Unsafe",
            "sun.misc.Unsafe", "com.sun.proxy.$Proxy", "scala.collection.Iterator", "org.apache.spark.rdd.RDD"}) {
            assertFalse(name, FrameNames.keepsLines(name));
        }
    }

    /** Computed apart from this code, from the words of FORMAT.md: they must never change within a normalizer. */
    @Test
    public void hashesAreWhatTheyAlwaysWere() {
        assertEquals(1, FrameNames.NORMALIZER);
        long run = FrameNames.frameHash("jit", "java.lang.Thread.run", 0);
        long main = FrameNames.frameHash("interpreted", "com.example.Job.main", 42);
        assertEquals(3102821057737690835L, run);
        assertEquals(7566286916880644844L, main);
        assertEquals(2240562364316217251L, FrameNames.frameHash("class", "byte[]", 0));
        assertEquals(4391231466461277411L, FrameNames.frameHash("native", "gr\u00f6\u00dfe", 0));
        assertEquals(-3750763034362895579L, FrameNames.STACK_HASH_START);
        long stack = FrameNames.push(FrameNames.STACK_HASH_START, run);
        assertEquals(8949516356686481591L, stack);
        assertEquals(-8453285069498878299L, FrameNames.push(stack, main));
    }
}
