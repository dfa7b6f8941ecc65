package zlimit.compat.spring.web;

import jakarta.servlet.http.HttpServletRequest;
import java.time.Clock;
import java.util.concurrent.TimeUnit;
import org.aspectj.lang.annotation.Aspect;
import org.aspectj.lang.annotation.Before;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.ZSetOperations;

/** Counts in milliseconds, expires in seconds, and refuses by an exception nobody maps to a status. */
@Aspect
public class RateLimitAspect {
    private final StringRedisTemplate template;
    private final HttpServletRequest request;
    private final Clock clock;
    private final String user;

    /** {@code request} stands for the one being served; {@code user} is fixed, as in the document. */
    RateLimitAspect(
            StringRedisTemplate template, HttpServletRequest request, Clock clock,
            @Value("${limit.user}") String user) {
        this.template = template;
        this.request = request;
        this.clock = clock;
        this.user = user;
    }

    @Before("@annotation(rateLimit)")
    public void refuseAboveThreshold(RateLimit rateLimit) {
        String key = "limit:" + user + ":" + request.getRequestURI();
        long now = clock.millis();
        ZSetOperations<String, String> hits = template.opsForZSet();
        hits.removeRangeByScore(key, 0, now - rateLimit.period() * 1000);
        if (hits.zCard(key) >= rateLimit.threshold()) {
            throw new RuntimeException("over the limit");
        }
        hits.add(key, String.valueOf(now), now);
        template.expire(key, rateLimit.period(), TimeUnit.SECONDS);
    }
}
