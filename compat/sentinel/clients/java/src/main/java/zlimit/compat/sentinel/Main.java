package zlimit.compat.sentinel;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Runs a limiter for each algorithm that the arguments name, until its input ends. */
public final class Main {
  private static final long AFTER_ERROR_MS = 50;
  private static final Duration ANSWERING = Duration.ofMillis(400);

  private Main() {}

  /** SENTINEL[,SENTINEL...] MASTER PAUSE_MS script[,RL.ALLOW]. */
  public static void main(String[] args) throws IOException, InterruptedException {
    long pauseMs = Long.parseLong(args[2]);
    RedisClient client = RedisClient.create(uri(args[0].split(","), args[1]));
    client.setOptions(ClientOptions.builder()
        .socketOptions(SocketOptions.builder().connectTimeout(ANSWERING).build())
        .build());
    CountDownLatch over = new CountDownLatch(1);
    List<Thread> threads = new ArrayList<>();
    for (String algorithm : args[3].split(",")) {
      Thread thread = new Thread(() -> run(new Limiter(client::connect, algorithm, ANSWERING), pauseMs, over));
      thread.start();
      threads.add(thread);
    }
    System.in.readAllBytes();
    over.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
    client.shutdown(0, 1, TimeUnit.SECONDS);
  }

  private static RedisURI uri(String[] sentinels, String master) {
    RedisURI.Builder builder = null;
    for (String sentinel : sentinels) {
      String[] parts = sentinel.split(":");
      int port = Integer.parseInt(parts[1]);
      builder = builder == null
          ? RedisURI.Builder.sentinel(parts[0], port, master)
          : builder.withSentinel(parts[0], port);
    }
    return builder.withTimeout(ANSWERING).build();
  }

  private static void run(Limiter limiter, long pauseMs, CountDownLatch over) {
    try {
      long pause = 0;
      for (int n = 0; !over.await(pause, TimeUnit.MILLISECONDS); n++) {
        Limiter.Line line = limiter.call(n);
        System.out.println(line.json());
        pause = line.failed() ? AFTER_ERROR_MS : pauseMs;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
