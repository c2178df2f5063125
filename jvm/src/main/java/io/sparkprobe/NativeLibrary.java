package io.sparkprobe;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import one.profiler.AsyncProfiler;

/**
 * Loads async-profiler's native library out of the jar: from a private directory, since a shared one may be mounted
 * noexec or be written to by others. One a JVM, whatever the number of class loaders: two copies do not see each other.
 */
final class NativeLibrary {
    /** System property that names the directory of the loaded copy; under `spark.` it would get into each SparkConf. */
    static final String LOADED = "io.sparkprobe.native.loaded";

    private static final String[] OTHER_PROFILERS = {"libasyncProfiler", "libjavaProfiler", "libpyroscope"};

    private static AsyncProfiler profiler;
    private static Path directory;

    private NativeLibrary() {
    }

    /**
     * The profiler; loads it at the first call.
     *
     * @param candidates directories to try, best first
     */
    static synchronized AsyncProfiler load(List<String> candidates) throws ProbeOffException {
        if (profiler != null) {
            return profiler;
        }
        String owner = System.getProperty(LOADED);
        if (owner != null) {
            throw new ProbeOffException("another copy of spark_probe is loaded in this JVM from " + owner
                    + "; profiling stays with that one. Keep one spark-probe jar on the class path");
        }
        refuseOthers();
        String resource = "/" + platform() + "/libasyncProfiler.so";
        List<String> failures = new ArrayList<>();
        for (String candidate : new LinkedHashSet<>(candidates)) {
            Path dir = null;
            Path library = null;
            try {
                Path parent = Paths.get(candidate).toAbsolutePath();
                Files.createDirectories(parent);
                dir = Files.createTempDirectory(parent, "spark-probe-");
                ownerOnly(dir);
                library = extract(resource, dir.resolve("libasyncProfiler.so"));
                profiler = AsyncProfiler.getInstance(library.toString());
                directory = dir;
                System.setProperty(LOADED, dir.toString());
                // Empty by then: the recording goes with its end.
                dir.toFile().deleteOnExit();
                return profiler;
            } catch (IOException | RuntimeException | UnsatisfiedLinkError e) {
                failures.add(candidate + ": " + (e.getMessage() == null ? e.toString() : e.getMessage()));
                delete(library);
                delete(dir);
            } finally {
                // The mapping stays; the file is not needed any more, and a killed JVM leaves none behind.
                if (profiler != null) {
                    delete(library);
                }
            }
        }
        throw new ProbeOffException("async-profiler's native library could not be loaded from any of " + failures
                + "; set spark.probe.tmp.dir to a directory on the executors that allows execution");
    }

    /** The private directory, for the recording's file; only after {@link #load}. */
    static synchronized Path directory() throws IOException {
        if (!Files.isDirectory(directory)) {
            Files.createDirectories(directory);
            ownerOnly(directory);
        }
        return directory;
    }

    private static Path extract(String resource, Path to) throws IOException, ProbeOffException {
        try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new ProbeOffException("the jar has no native library for " + resource
                        + "; supported are Linux on x64 and arm64, and macOS");
            }
            Files.copy(in, to);
        }
        return to;
    }

    private static void ownerOnly(Path dir) throws IOException {
        if (dir.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            Files.setPosixFilePermissions(dir, PosixFilePermissions.fromString("rwx------"));
        }
    }

    static void delete(Path path) {
        try {
            if (path != null) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            // A leftover file in a private directory harms nobody.
            path.toFile().deleteOnExit();
        }
    }

    static String platform() throws ProbeOffException {
        String os = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String arch = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        if (os.contains("mac")) {
            return "macos";
        }
        if (os.contains("linux") && (arch.equals("amd64") || arch.equals("x86_64"))) {
            return "linux-x64";
        }
        if (os.contains("linux") && arch.equals("aarch64")) {
            return "linux-arm64";
        }
        throw new ProbeOffException("there is no async-profiler for " + os + " on " + arch
                + "; supported are Linux on x64 and arm64, and macOS");
    }

    private static void refuseOthers() throws ProbeOffException {
        Set<String> others = loadedProfilers();
        if (!others.isEmpty()) {
            throw new ProbeOffException("another profiler is loaded in this JVM: " + others
                    + "; two cannot share its signals. Remove the other one (an agent or a plugin) to use spark_probe");
        }
    }

    /** Paths of profilers' native libraries mapped into this process; empty where /proc cannot be read. */
    static Set<String> loadedProfilers() {
        Set<String> found = new LinkedHashSet<>();
        if (!new File("/proc/self/maps").canRead()) {
            return found;
        }
        try {
            byte[] maps = Files.readAllBytes(Paths.get("/proc/self/maps"));
            for (String line : new String(maps, StandardCharsets.ISO_8859_1).split("\n")) {
                for (String other : OTHER_PROFILERS) {
                    if (line.contains(other)) {
                        found.add(line.substring(line.indexOf('/')));
                    }
                }
            }
        } catch (IOException e) {
            return found;
        }
        return found;
    }
}
