package example;

import java.time.Clock;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.core.BoundZSetOperations;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.SessionCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Component;

/**
 * Counts accesses to a key in a sliding window; old hits leave when a new one is let in, or when the key expires.
 */
@Component
public class SlidingWindowCounter {
    private final StringRedisTemplate template;
    private final Clock clock;

    SlidingWindowCounter(StringRedisTemplate template, Clock clock) {
        this.template = template;
        this.clock = clock;
    }

    public boolean access(String key, int maxCount, int windowInSeconds) {
        if (count(key) >= maxCount) {
            return false;
        }
        increment(key, windowInSeconds);
        return true;
    }

    public long count(String key) {
        return template.boundZSetOps(key).zCard();
    }

    /** Returns the seconds until the key expires. */
    public long lastTime(String key) {
        return template.getExpire(key);
    }

    private void increment(String key, int windowInSeconds) {
        long now = clock.millis();
        template.execute(new SessionCallback<List<Object>>() { // MULTI and EXEC on one connection
            @Override
            @SuppressWarnings("unchecked")
            public <K, V> List<Object> execute(RedisOperations<K, V> operations) throws DataAccessException {
                RedisOperations<String, String> strings = (RedisOperations<String, String>) operations;
                strings.multi();
                BoundZSetOperations<String, String> hits = strings.boundZSetOps(key);
                hits.removeRangeByScore(0, now - windowInSeconds * 1000L);
                hits.add(now + "_" + UUID.randomUUID(), now);
                hits.expire(windowInSeconds, TimeUnit.SECONDS);
                return strings.exec();
            }
        });
    }
}
