package beside;

import com.github.fppt.jedismock.RedisServer;

/** Runs jedis-mock on the port that is its argument, until standard input ends. */
final class Fake {
    private Fake() {
    }

    public static void main(String[] arguments) throws Exception {
        RedisServer server = RedisServer.newRedisServer(Integer.parseInt(arguments[0])).start();
        System.out.println("ready port=" + server.getBindPort());
        System.in.transferTo(java.io.OutputStream.nullOutputStream());
        server.stop();
        System.exit(0);
    }
}
