package config

import "math"

// tlsDirectives are those of connections over TLS. Package server/tlsconfig says
// what their values mean.
var tlsDirectives = []Directive{
	{
		Name: "tls-port", Kind: KindInt, Default: "0", Max: 65535,
		About: "TCP port to listen on for connections over TLS, beside port or, if that is 0, alone; 0 " +
			"means none.",
	},
	{
		Name: "tls-cert-file", Kind: KindPath, Volatile: true,
		About: "Certificate of the server in PEM, followed by those of intermediate authorities; CONFIG " +
			"SET of the same file and SIGHUP read it again.",
	},
	{
		Name: "tls-key-file", Kind: KindPath, Volatile: true,
		About: "Private key of the certificate in PEM.",
	},
	{
		Name: "tls-key-file-pass", Kind: KindString, Volatile: true, Sensitive: true,
		About: "Passphrase of the private key, if it is encrypted.",
	},
	{
		Name: "tls-ca-cert-file", Kind: KindPath, Volatile: true,
		About: "Certificates in PEM of the authorities whose certificates are accepted, those of clients " +
			"and, with tls-replication, that of the master.",
	},
	{
		Name: "tls-ca-cert-dir", Kind: KindPath, Volatile: true,
		About: "Directory of such certificates in files named by openssl rehash; read at the start and " +
			"whenever certificates are.",
	},
	{
		Name: "tls-auth-clients", Kind: KindEnum, Default: "yes", Values: []string{"no", "yes", "optional"},
		About: "Whether clients must have a certificate (yes), may have one (optional), or are not asked " +
			"(no).",
	},
	{
		Name: "tls-protocols", Kind: KindString, Volatile: true,
		About: "Versions that are accepted, TLSv1 to TLSv1.3 without a gap; empty means TLSv1.2 and TLSv1.3.",
	},
	{
		Name: "tls-ciphers", Kind: KindString, Volatile: true,
		About: "Cipher suites up to TLSv1.2, by OpenSSL's names with colons between; of its keywords " +
			"DEFAULT, HIGH, and what is excluded anyway (!aNULL, !MD5); empty means Go's choice.",
	},
	{
		Name: "tls-ciphersuites", Kind: KindString, Volatile: true,
		About: "Cipher suites of TLSv1.3: all three of Go's or, if empty, the same.",
	},
	{
		Name: "tls-session-caching", Kind: KindBool, Default: "yes",
		About: "Whether clients may resume sessions, with tickets.",
	},
	{
		Name: "tls-session-cache-timeout", Kind: KindInt, Default: "300", Max: math.MaxInt32,
		About: "Seconds during which a session can be resumed; 0 means a week.",
	},
	within(unused("tls-session-cache-size", KindInt, "20480",
		"clients keep their sessions themselves, in tickets."), 0, math.MaxInt32),
	unused("tls-prefer-server-ciphers", KindBool, "no", "Go prefers what both sides compute fastest."),
	unused("tls-dh-params-file", KindString, "", "Go's key exchange is over elliptic curves only."),
	{
		Name: "tls-client-cert-file", Kind: KindPath, Volatile: true,
		About: "Certificate that a replica shows its master; without it and tls-client-key-file that of " +
			"tls-cert-file.",
	},
	{
		Name: "tls-client-key-file", Kind: KindPath, Volatile: true,
		About: "Private key of that certificate in PEM.",
	},
	{
		Name: "tls-client-key-file-pass", Kind: KindString, Volatile: true, Sensitive: true,
		About: "Passphrase of that key, if it is encrypted.",
	},
	{
		Name: "tls-replication", Kind: KindBool, Default: "no",
		About: "Whether a replica connects to its master over TLS, and gives tls-port as its own; the " +
			"master's certificate must be of an authority of tls-ca-cert-file or -dir, its name is not " +
			"compared.",
	},
}
