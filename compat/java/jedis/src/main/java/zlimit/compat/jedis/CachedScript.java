package zlimit.compat.jedis;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/** A script called by its digest, and by its text where the server does not know the digest. */
final class CachedScript {
    private final Target target;
    private final String text;
    private final String sha1;

    /** Empties the server's script cache, so that the first call meets NOSCRIPT on any server. */
    CachedScript(Target target, String text) {
        this.target = target;
        this.text = text;
        this.sha1 = sha1(text);
        target.scriptFlush();
    }

    Call call(String key, String... args) {
        List<String> keys = List.of(key);
        List<String> argv = List.of(args);
        try {
            return new Call(target.commands().evalsha(sha1, keys, argv), "EVALSHA");
        } catch (JedisNoScriptException e) {
            return new Call(target.commands().eval(text, keys, argv), "EVALSHA,NOSCRIPT,EVAL");
        }
    }

    /**
     * @param reply integers are Long, strings String, arrays List
     * @param via   what it took to get it
     */
    record Call(Object reply, String via) {
    }

    private static String sha1(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }
}
