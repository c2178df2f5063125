package io.sparkprobe;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.RuntimeMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import one.profiler.AsyncProfiler;

/**
 * What matters to profiling in this JVM, as names and values. Needs nothing but a JDK: {@code java -cp <jar>
 * io.sparkprobe.Doctor [DIRECTORY...]} prints it, a fact a line, name and value with a tab between. What it means is
 * Python's to say (spark_probe/doctor.py).
 */
public final class Doctor {
    private static final String[] ENGINES = {"ctimer", "itimer", "wall", "alloc", "lock"};
    private static final String[] AGENTS = {"-agentpath:", "-agentlib:", "-javaagent:"};

    private Doctor() {
    }

    public static void main(String[] args) {
        List<String> directories = args.length > 0 ? Arrays.asList(args)
                : Arrays.asList(System.getProperty("java.io.tmpdir"), System.getProperty("user.dir"));
        System.out.print(text(facts(directories, false)));
    }

    /**
     * @param directories where the native library may be put, best first
     * @param recording whether the probe is on here, so that engines cannot be tried
     */
    static Map<String, String> facts(List<String> directories, boolean recording) {
        Map<String, String> facts = new LinkedHashMap<>();
        RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
        facts.put("probe", Version.jar());
        facts.put("jvm", runtime.getVmName() + " " + System.getProperty("java.version") + ", " + runtime.getVmVendor());
        facts.put("java_major", System.getProperty("java.specification.version"));
        facts.put("process", runtime.getName());
        facts.put("os", System.getProperty("os.name"));
        facts.put("arch", System.getProperty("os.arch"));
        facts.put("cores", String.valueOf(Runtime.getRuntime().availableProcessors()));
        facts.put("heap_max_bytes", String.valueOf(Runtime.getRuntime().maxMemory()));
        facts.put("libc", libc());
        facts.put("perf_event_paranoid", line("/proc/sys/kernel/perf_event_paranoid"));
        facts.put("debug_non_safepoints", vmOption("DebugNonSafepoints"));
        facts.put("agents", String.join(" ", agents(runtime)));
        profiler(facts, directories, recording);
        return facts;
    }

    private static void profiler(Map<String, String> facts, List<String> directories, boolean recording) {
        // Ours is loaded already where profiling is on; others are looked for before ours is.
        boolean loaded = System.getProperty(NativeLibrary.LOADED) != null;
        Set<String> others = NativeLibrary.loadedProfilers();
        others.removeIf(path -> loaded && path.contains("spark-probe-"));
        facts.put("other_profilers", String.join(" ", others));
        facts.put("directories", String.join(File.pathSeparator, directories));
        try {
            AsyncProfiler profiler = NativeLibrary.load(directories);
            facts.put("native", "loaded");
            facts.put("native_directory", System.getProperty(NativeLibrary.LOADED));
            facts.put("profiler", profiler.getVersion());
            facts.put("recording", String.valueOf(recording));
            if (!recording) {
                engines(facts, profiler);
            }
        } catch (ProbeOffException e) {
            facts.put("native", e.getMessage());
        } catch (Throwable t) {
            facts.put("native", t.toString());
        }
    }

    private static void engines(Map<String, String> facts, AsyncProfiler profiler) {
        for (String engine : ENGINES) {
            try {
                profiler.execute("start,loglevel=none,event=" + engine);
                profiler.execute("stop");
                facts.put("engine_" + engine, "ok");
            } catch (IOException | RuntimeException e) {
                facts.put("engine_" + engine, String.valueOf(e.getMessage()));
            }
        }
    }

    /** The C library that this JVM runs on, which is not always the system's. */
    private static String libc() {
        try {
            String maps = new String(Files.readAllBytes(Paths.get("/proc/self/maps")), StandardCharsets.ISO_8859_1);
            if (maps.contains("ld-musl") || maps.contains("libc.musl")) {
                return "musl";
            }
            return maps.contains("/libc.so") || maps.contains("/libc-") ? "glibc" : "unknown";
        } catch (IOException e) {
            return "unknown";
        }
    }

    private static String line(String file) {
        try {
            return new String(Files.readAllBytes(Paths.get(file)), StandardCharsets.ISO_8859_1).trim();
        } catch (IOException e) {
            return "";
        }
    }

    private static String vmOption(String name) {
        try {
            return ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).getVMOption(name).getValue();
        } catch (IllegalArgumentException e) {
            // A diagnostic option that has not been unlocked: it is off.
            return "false";
        } catch (RuntimeException | LinkageError e) {
            return "unknown";
        }
    }

    private static List<String> agents(RuntimeMXBean runtime) {
        List<String> agents = new ArrayList<>();
        for (String argument : runtime.getInputArguments()) {
            for (String prefix : AGENTS) {
                if (argument.startsWith(prefix)) {
                    // Without its options: they may hold secrets.
                    agents.add(argument.split("=", 2)[0]);
                }
            }
        }
        return agents;
    }

    static String text(Map<String, String> facts) {
        StringBuilder text = new StringBuilder();
        facts.forEach((name, value) -> text.append(name).append('\t')
                .append(String.valueOf(value).replaceAll("\\s+", " ")).append('\n'));
        return text.toString();
    }
}
