package zlimit.compat.sentinel;

import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** One limiter of the two: a script by EVALSHA, or RL.ALLOW. */
final class Limiter {
  private static final String SLIDING_WINDOW = """
      local key, now = KEYS[1], tonumber(ARGV[1])
      redis.call('ZREMRANGEBYSCORE', key, 0, now - tonumber(ARGV[2]))
      if redis.call('ZCARD', key) >= tonumber(ARGV[3]) then return 0 end
      redis.call('ZADD', key, now, ARGV[4])
      return 1""";
  private static final long WINDOW_MS = 1000;
  private static final long WINDOW_LIMIT = 20;
  private static final long LEDGER_MS = 600_000;
  private static final long LEDGER_LIMIT = 1_000_000;
  private static final long BEGIN_NS = System.nanoTime();

  private final Supplier<StatefulRedisConnection<String, String>> connect;
  private final String algorithm;
  private final Duration answering;
  private StatefulRedisConnection<String, String> connection;
  private RedisAsyncCommands<String, String> commands; // of connection; null: there is none
  private String digest;

  Limiter(Supplier<StatefulRedisConnection<String, String>> connect, String algorithm, Duration answering) {
    this.connect = connect;
    this.algorithm = algorithm;
    this.answering = answering;
  }

  private void open() {
    if (commands == null) {
      connection = connect.get();
      commands = connection.async();
      digest = commands.digest(SLIDING_WINDOW);
    }
  }

  /** Gives up the connection: Lettuce keeps one for as long as nobody closes it, and a stopped master does not. */
  private void abandon() {
    if (commands != null) {
      commands = null;
      connection.closeAsync();
    }
  }

  /** A call as the test reads it. */
  record Line(String json, boolean failed) {}

  /** Asks about one unit, and before and after it who answers. */
  Line call(int unit) throws InterruptedException {
    long sentUs = nowUs();
    long sentMs = System.currentTimeMillis();
    String head = "{\"limiter\":\"" + algorithm + "\",\"unit\":\"" + unit + "\",\"sentUs\":" + sentUs
        + ",\"sentMs\":" + sentMs + ",";
    try {
      String answer;
      try {
        open();
        answer = ask(unit, sentMs);
      } catch (RedisNoScriptException e) { // a new master does not have it
        commands.scriptLoad(SLIDING_WINDOW);
        answer = ask(unit, sentMs);
      }
      return new Line(head + answer + "}", false);
    } catch (RedisException | TimeoutException e) {
      if (e instanceof TimeoutException) {
        abandon();
      }
      String text = (e.getClass().getSimpleName() + ": " + e.getMessage())
          .replaceAll("[\"\\\\\\p{Cntrl}]", " ");
      return new Line(head + "\"error\":\"" + text + "\"}", true);
    }
  }

  private String ask(int unit, long sentMs) throws InterruptedException, TimeoutException {
    long deadline = System.nanoTime() + answering.toNanos();
    RedisFuture<Map<String, String>> before = commands.configGet("port");
    RedisFuture<?> window = decide("window", WINDOW_LIMIT, WINDOW_MS, unit, sentMs);
    RedisFuture<?> ledger = decide("ledger", LEDGER_LIMIT, LEDGER_MS, unit, sentMs);
    RedisFuture<Map<String, String>> after = commands.configGet("port");
    try {
      Object admitted = get(window, deadline);
      Object known = get(ledger, deadline);
      return "\"port\":" + get(before, deadline).get("port")
          + ",\"portAfter\":" + get(after, deadline).get("port") + ",\"window\":" + admitted + ",\"ledger\":" + known + ",\"receivedUs\":" + nowUs();
    } finally { // what has timed out is not to be sent again
      List.of(before, window, ledger, after).forEach(f -> f.cancel(true));
    }
  }

  private RedisFuture<?> decide(String kind, long limit, long windowMs, int unit, long sentMs) {
    String key = kind + ":java:" + algorithm;
    if (algorithm.equals("script")) {
      return commands.evalsha(digest, ScriptOutputType.INTEGER, new String[] {key}, Long.toString(sentMs),
          Long.toString(windowMs), Long.toString(limit), Integer.toString(unit));
    }
    return commands.dispatch(Allow.INSTANCE, new ArrayOutput<>(StringCodec.UTF8),
        new CommandArgs<>(StringCodec.UTF8).addKey(key).add(limit).add(windowMs));
  }

  private static <T> T get(RedisFuture<T> future, long deadline) throws InterruptedException, TimeoutException {
    try {
      return future.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RedisException known ? known : new RedisException(e.getCause());
    }
  }

  private static long nowUs() {
    return (System.nanoTime() - BEGIN_NS) / 1000;
  }

  private enum Allow implements ProtocolKeyword {
    INSTANCE;

    @Override
    public byte[] getBytes() {
      return "RL.ALLOW".getBytes(StandardCharsets.US_ASCII);
    }
  }
}
