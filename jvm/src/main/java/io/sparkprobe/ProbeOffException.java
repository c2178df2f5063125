package io.sparkprobe;

/** Profiling cannot be had in this JVM; the message says what, where, and what to do. */
final class ProbeOffException extends Exception {
    ProbeOffException(String message) {
        super(message);
    }

    ProbeOffException(String message, Throwable cause) {
        super(message, cause);
    }
}
