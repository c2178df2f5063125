package io.sparkprobe;

/** The bytes are no JFR, or damaged. The message says what was found where. */
final class JfrFormatException extends RuntimeException {
    JfrFormatException(String message) {
        super(message);
    }
}
