package io.zlimit;

/** An error that the server has replied. */
public final class ReplyException extends RuntimeException {
    private static final long serialVersionUID = 1;

    ReplyException(String message) {
        super(message);
    }
}
