package example;

import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;
import static org.springframework.test.web.servlet.result.MockMvcResultMatchers.status;

import io.zlimit.ServerClock;
import io.zlimit.junit.ZlimitServer;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Import;
import org.springframework.test.web.servlet.MockMvc;

/** The aspect over the edge of its window of 30 seconds, without sleeping. */
@SpringBootTest
@AutoConfigureMockMvc
@ZlimitServer(frozen = true)
@Import(ServerTime.class)
class RateLimitAspectTest {
    @Autowired
    private MockMvc mvc;

    private void expect(int status) throws Exception {
        mvc.perform(get("/hello/sayHi")).andExpect(status().is(status));
    }

    @Test
    void twoCallsInThirtySeconds(ServerClock clock) throws Exception {
        expect(200);
        clock.advance(10_000);
        expect(200);
        expect(429);
        clock.advance(19_999); // the first call is 29.999 s ago
        expect(429);
        clock.advance(1);
        expect(200);
        expect(429);
        clock.advance(10_000); // the second one leaves
        expect(200);
        expect(429);
    }

    @Test
    void theKeyExpiresWithTheWindow(ServerClock clock) throws Exception {
        expect(200);
        expect(200); // in the same millisecond, so it overwrites the first
        expect(200);
        clock.advance(30_001);
        expect(200);
    }
}
