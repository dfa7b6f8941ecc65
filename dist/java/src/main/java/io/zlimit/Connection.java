package io.zlimit;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A connection in RESP2, for one command that controls a server. */
final class Connection implements AutoCloseable {
    private static final int CONNECT_TIMEOUT_MS = 5_000;

    private final Socket socket = new Socket();
    private InputStream in;

    private Connection() {
    }

    /**
     * Sends a command on a connection of its own and returns the reply: a String, Long, List or null. What a test does
     * to connections, as by CLIENT KILL or faults, has no effect on later commands.
     */
    static Object send(String host, int port, String... arguments) {
        Object reply;
        try (Connection connection = new Connection()) {
            connection.open(host, port);
            connection.socket.getOutputStream().write(encode(arguments));
            reply = connection.read();
        } catch (IOException e) {
            throw new UncheckedIOException("zlimit: the server at " + host + ":" + port + " has ended or closed the "
                    + "connection", e);
        }
        if (reply instanceof ReplyException e) {
            throw e;
        }
        return reply;
    }

    private void open(String host, int port) throws IOException {
        socket.setTcpNoDelay(true);
        socket.setSoLinger(true, 0); // the system does not keep its port
        socket.connect(new InetSocketAddress(host, port), CONNECT_TIMEOUT_MS);
        in = new BufferedInputStream(socket.getInputStream());
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    private static byte[] encode(String... arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(("*" + arguments.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
        for (String argument : arguments) {
            byte[] bytes = argument.getBytes(StandardCharsets.UTF_8);
            out.writeBytes(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
            out.writeBytes(bytes);
            out.writeBytes(new byte[] {'\r', '\n'});
        }
        return out.toByteArray();
    }

    private Object read() throws IOException {
        String line = readLine();
        String text = line.substring(1);
        switch (line.charAt(0)) {
            case '+':
                return text;
            case '-':
                return new ReplyException(text);
            case ':':
                return Long.valueOf(text);
            case '$':
                return readBulk(Integer.parseInt(text));
            case '*':
                return readArray(Integer.parseInt(text));
            default:
                throw new IOException("a reply begins with " + line.charAt(0));
        }
    }

    private String readBulk(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length || !readLine().isEmpty()) {
            throw new EOFException("a reply ends early");
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private List<Object> readArray(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        List<Object> items = new ArrayList<>(length);
        for (int i = 0; i < length; i++) {
            items.add(read());
        }
        return items;
    }

    private String readLine() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.read(); b != '\r'; b = in.read()) {
            if (b < 0) {
                throw new EOFException("the server has closed the connection");
            }
            line.write(b);
        }
        if (in.read() != '\n') {
            throw new IOException("a line of a reply has no end");
        }
        return line.toString(StandardCharsets.UTF_8);
    }
}
