package example;

import jakarta.servlet.http.HttpServletRequest;
import java.time.Clock;
import java.util.concurrent.TimeUnit;
import org.aspectj.lang.annotation.Aspect;
import org.aspectj.lang.annotation.Before;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.ZSetOperations;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ResponseStatusException;

/** Counts the calls of methods with {@link RateLimit} in a sorted set for each user and path. */
@Aspect
@Component
public class RateLimitAspect {
    private final StringRedisTemplate template;
    private final HttpServletRequest request; // stands for the one being served
    private final Clock clock;
    private final String user;

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
            throw new ResponseStatusException(HttpStatus.TOO_MANY_REQUESTS);
        }
        hits.add(key, String.valueOf(now), now);
        template.expire(key, rateLimit.period(), TimeUnit.SECONDS);
    }
}
