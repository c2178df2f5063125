package io.sparkprobe;

import java.nio.charset.StandardCharsets;

/**
 * Names of frames that are the same in every JVM, and the hashes made of them: normalizer 1 of FORMAT.md.
 *
 * <p>A change here that changes any name or hash needs a new {@link #NORMALIZER}.
 */
final class FrameNames {
    static final int NORMALIZER = 1;

    /** Frame types as they stand in the {@code frame} table; the index is what async-profiler writes. */
    static final String[] TYPES = {"interpreted", "jit", "inlined", "native", "cpp", "kernel", "c1", "class"};
    static final int INTERPRETED = 0;
    static final int NATIVE = 3;
    static final int CPP = 4;
    static final int KERNEL = 5;
    static final int CLASS = 7;

    static final long STACK_HASH_START = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;

    /** Packages whose line numbers are dropped: what users cannot change would only make more stacks. */
    private static final String[] NO_LINES = {
        "java.", "javax.", "jdk.", "sun.", "com.sun.", "scala.", "org.apache.spark.",
    };
    private static final String[] GENERATED_ACCESSORS = {
        "GeneratedMethodAccessor", "GeneratedConstructorAccessor", "GeneratedSerializationConstructorAccessor",
    };
    private static final String[] CLONES = {"isra", "part", "constprop", "cold", "lto_priv", "llvm"};
    private static final String LAMBDA = "$$Lambda";
    private static final String LAMBDA_FORM = "LambdaForm$";
    private static final String PROXY = "$Proxy";
    private static final String JDK_PROXY = "jdk.proxy";

    private FrameNames() {
    }

    /** Whether a frame of this type is a C symbol rather than a Java method. */
    static boolean isNative(int type) {
        return type == NATIVE || type == CPP || type == KERNEL;
    }

    /** Whether the lines of a class, by its normalised name, are kept. */
    static boolean keepsLines(String className) {
        for (String prefix : NO_LINES) {
            if (className.startsWith(prefix)) {
                return false;
            }
        }
        return true;
    }

    /** A class name as the JVM writes it, {@code java/util/Map$Entry} or {@code [Ljava/lang/String;}, normalised. */
    static String className(String internal) {
        int dimensions = 0;
        while (dimensions < internal.length() && internal.charAt(dimensions) == '[') {
            dimensions++;
        }
        if (dimensions == 0) {
            return plainClassName(internal);
        }
        StringBuilder name = new StringBuilder(elementName(internal.substring(dimensions)));
        for (int i = 0; i < dimensions; i++) {
            name.append("[]");
        }
        return name.toString();
    }

    private static String elementName(String descriptor) {
        switch (descriptor) {
            case "B":
                return "byte";
            case "C":
                return "char";
            case "S":
                return "short";
            case "I":
                return "int";
            case "J":
                return "long";
            case "Z":
                return "boolean";
            case "F":
                return "float";
            case "D":
                return "double";
            default:
                boolean object = descriptor.startsWith("L") && descriptor.endsWith(";");
                return plainClassName(object ? descriptor.substring(1, descriptor.length() - 1) : descriptor);
        }
    }

    private static String plainClassName(String internal) {
        if (!hasDigit(internal)) {
            return internal.replace('/', '.'); // whatever is cut off below has a number
        }
        String name = internal.substring(0, hiddenSuffix(internal)).replace('/', '.');
        int lambda = name.indexOf(LAMBDA);
        if (lambda >= 0) {
            return name.substring(0, lambda + LAMBDA.length());
        }
        int form = name.indexOf(LAMBDA_FORM);
        if (form >= 0) {
            int end = form + LAMBDA_FORM.length();
            while (end < name.length() && Character.isLetter(name.charAt(end))) {
                end++;
            }
            return name.substring(0, end);
        }
        for (String accessor : GENERATED_ACCESSORS) {
            if (endsWithNumbered(name, accessor)) {
                return name.substring(0, name.lastIndexOf(accessor) + accessor.length());
            }
        }
        if (endsWithNumbered(name, PROXY)) {
            name = name.substring(0, name.lastIndexOf(PROXY) + PROXY.length());
            int end = JDK_PROXY.length();
            if (name.startsWith(JDK_PROXY)) {
                while (Character.isDigit(name.charAt(end))) {
                    end++;
                }
                name = JDK_PROXY + name.substring(end);
            }
        }
        return name;
    }

    /** Where the suffix of a hidden class starts: {@code /0x…}, {@code +0x…} or, on JDK 8, {@code /<digits>}. */
    private static int hiddenSuffix(String name) {
        for (int i = 1; i + 1 < name.length(); i++) {
            char c = name.charAt(i);
            boolean hex = (c == '/' || c == '+' || c == '.') && name.startsWith("0x", i + 1);
            if (hex || c == '/' && Character.isDigit(name.charAt(i + 1))) {
                return i;
            }
        }
        return name.length();
    }

    private static boolean hasDigit(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= '0' && c <= '9') {
                return true;
            }
        }
        return false;
    }

    private static boolean endsWithNumbered(String name, String word) {
        int at = name.lastIndexOf(word);
        int from = at + word.length();
        return at >= 0 && from < name.length() && allDigits(name, from);
    }

    private static boolean allDigits(String text, int from) {
        for (int i = from; i < text.length(); i++) {
            if (!Character.isDigit(text.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    /** A C symbol without its offset and without the suffixes of compiler-made clones. */
    static String nativeName(String symbol) {
        String name = symbol;
        int offset = name.lastIndexOf("+0x");
        if (offset > 0 && isHex(name, offset + 3)) {
            name = name.substring(0, offset);
        }
        int clone = name.indexOf(" [clone ");
        if (clone > 0) {
            name = name.substring(0, clone);
        }
        for (int end = cloneSuffix(name); end > 0; end = cloneSuffix(name)) {
            name = name.substring(0, end);
        }
        return name;
    }

    /** Start of one trailing {@code .isra.0} or {@code .cold}, or -1. */
    private static int cloneSuffix(String name) {
        int end = name.length();
        int dot = name.lastIndexOf('.');
        while (dot > 0 && dot + 1 < end && allDigits(name.substring(0, end), dot + 1)) {
            end = dot;
            dot = name.lastIndexOf('.', end - 1);
        }
        if (dot > 0) {
            String word = name.substring(dot + 1, end);
            for (String clone : CLONES) {
                if (clone.equals(word)) {
                    return dot;
                }
            }
        }
        return -1;
    }

    private static boolean isHex(String text, int from) {
        for (int i = from; i < text.length(); i++) {
            if (Character.digit(text.charAt(i), 16) < 0) {
                return false;
            }
        }
        return from < text.length();
    }

    /** FNV-1a over type, zero byte, name, zero byte and the decimal line. */
    static long frameHash(String type, String name, int line) {
        long h = fnv(STACK_HASH_START, type);
        h = h * FNV_PRIME;
        h = fnv(h, name);
        h = h * FNV_PRIME;
        return fnv(h, Integer.toString(line));
    }

    private static long fnv(long hash, String text) {
        long h = hash;
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            h = (h ^ (b & 0xff)) * FNV_PRIME;
        }
        return h;
    }

    /** The hash of a stack with one more frame towards the leaf. */
    static long push(long stackHash, long frameHash) {
        long h = (stackHash ^ frameHash) * FNV_PRIME;
        return h ^ h >>> 32;
    }
}
