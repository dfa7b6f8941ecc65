package zlimit.compat.runner;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** The folder of {@code --tls}, for libraries that take an SSLContext rather than files. */
public final class Tls {
    private Tls() {
    }

    public static Path authority(Path folder) {
        return folder.resolve("ca.crt");
    }

    public static Path certificate(Path folder) {
        return folder.resolve("client.crt");
    }

    public static Path key(Path folder) {
        return folder.resolve("client.key");
    }

    public static boolean hasCertificate(Path folder) {
        return Files.exists(certificate(folder));
    }

    public static SSLContext context(Path folder) throws GeneralSecurityException, IOException {
        KeyStore authorities = empty();
        authorities.setCertificateEntry("ca", read(authority(folder)));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(authorities);
        KeyStore own = empty();
        if (hasCertificate(folder)) {
            own.setKeyEntry("client", readKey(key(folder)), new char[0],
                    new Certificate[] {read(certificate(folder))});
        }
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(own, new char[0]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    private static KeyStore empty() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Certificate read(Path file) throws GeneralSecurityException, IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return CertificateFactory.getInstance("X.509").generateCertificate(in);
        }
    }

    /** Reads a key of an elliptic curve in PKCS #8, which is what the comparison writes. */
    private static PrivateKey readKey(Path file) throws GeneralSecurityException, IOException {
        String body = Files.readString(file).replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(body)));
    }
}
