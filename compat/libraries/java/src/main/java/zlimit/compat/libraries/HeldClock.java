package zlimit.compat.libraries;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** The server's clock, which stands still until it is told to go on; whoever asks for the time here shares it. */
public final class HeldClock {
    private static volatile long nowMillis;

    private final String address;
    private final HttpClient http = HttpClient.newHttpClient();

    HeldClock(String address) throws Exception {
        this.address = address;
        ask("/now");
    }

    /** What the libraries' own readings of the clock are turned into. */
    public static long currentTimeMillis() {
        return nowMillis;
    }

    void advance(long millis) throws Exception {
        ask("/advance?ms=" + millis);
    }

    private void ask(String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(address + path)).build();
        HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new IllegalStateException("the clock answered " + response.body());
        }
        nowMillis = Long.parseLong(response.body());
    }
}
