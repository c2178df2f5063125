package io.sparkprobe;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;

/** CPU time of the processes below this JVM, which are its Python daemon and workers. Linux only. */
final class PythonWorkers {
    private static final int PPID = 1;
    private static final int UTIME = 11;
    private static final int STIME = 12;

    private PythonWorkers() {
    }

    /** Clock ticks that all descendants used, -1 where that cannot be read. */
    static long cpuTicks() {
        String name = ManagementFactory.getRuntimeMXBean().getName();
        String self = name.substring(0, Math.max(0, name.indexOf('@')));
        File[] processes = new File("/proc").listFiles((dir, file) -> Character.isDigit(file.charAt(0)));
        if (processes == null || self.isEmpty()) {
            return -1;
        }
        Map<String, String[]> stats = new HashMap<>();
        for (File process : processes) {
            try {
                String stat = new String(Files.readAllBytes(new File(process, "stat").toPath()),
                        StandardCharsets.ISO_8859_1);
                // The command's name may hold spaces and parentheses; the numbers come after the last one.
                stats.put(process.getName(), stat.substring(stat.lastIndexOf(')') + 2).split(" "));
            } catch (IOException | RuntimeException e) {
                // The process ended while we looked.
                continue;
            }
        }
        long ticks = 0;
        for (String pid : stats.keySet()) {
            if (descends(pid, self, stats)) {
                String[] stat = stats.get(pid);
                ticks += Long.parseLong(stat[UTIME]) + Long.parseLong(stat[STIME]);
            }
        }
        return ticks;
    }

    private static boolean descends(String pid, String ancestor, Map<String, String[]> stats) {
        String at = pid;
        for (int depth = 0; depth < 16; depth++) {
            String[] stat = stats.get(at);
            if (stat == null) {
                return false;
            }
            at = stat[PPID];
            if (at.equals(ancestor)) {
                return true;
            }
        }
        return false;
    }
}
