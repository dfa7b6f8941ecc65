package tlsconfig

import (
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"
)

// One key of no use, as OpenSSL 3 writes it: openssl ec -aes256, openssl pkcs8
// -topk8 with no options, with -v2 aes128 -v2prf hmacWithSHA1, with -scrypt, and
// with -v1 PBE-SHA1-3DES. The passphrase is secret.
const (
	plainKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIv54FeLbL4nhilbI
FA0/ug5A3djrL8sFm6PqoQY+eTuhRANCAARiFurQ2i/MBGEXa/72Yx7Gdjr4zO+7
Ok907wmth4suFZ3yNcTriuYuwutNJifJ9KDClVjcH75J+ck60BFt13Ns
-----END PRIVATE KEY-----
`
	plainEC = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIv54FeLbL4nhilbI
FA0/ug5A3djrL8sFm6PqoQY+eTuhRANCAARiFurQ2i/MBGEXa/72Yx7Gdjr4zO+7
Ok907wmth4suFZ3yNcTriuYuwutNJifJ9KDClVjcH75J+ck60BFt13Ns
-----END PRIVATE KEY-----
`
	legacyKey = `-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-256-CBC,6D842FF57DE4784C142E3846D25476B5

BGcd1ss3vmRrYKFCeorMhSeuRJAU9zldbP6XaMolmqyCXLKySdwyW1tKbLf0F1bC
0tMny/Tgi6zq24O9b557Hb8Jla7FrJVUGa5Ga13zi3UKBjQ8Zz46ULgE2j8V7Z91
hPEyJj3dxPgj0oMIkmfYzANSVmvoPSAfkNAGZpKrdAM=
-----END EC PRIVATE KEY-----
`
	pkcs8Key = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhxEirw5HY/1AICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEMASr/VQNnyynjdTvWYM0MMEgZD+
Zr8R0NMiBPW9/de1bqCjDZ/ktYfemkH6ZujiPe4whdYMTNjPFuwPjjQfBa/ftJDv
lIWCTIaJQt3vsU0CXeWIzkn5nHKmiYZYEIXJpkp/kf55NYJSrzTc9tBBmd+bhbwy
PDnE7lFzg4ImIPakltvkObRnLS/CmbLeuF5Kr0hmvPQCzfCo9x8C4RLGkvMwArU=
-----END ENCRYPTED PRIVATE KEY-----
`
	sha1Key = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHeMEkGCSqGSIb3DQEFDTA8MBsGCSqGSIb3DQEFDDAOBAi6Zudg79vlcQICCAAw
HQYJYIZIAWUDBAECBBDWgwUkn4BEAjXv/3QCJ7eQBIGQIDz1QEZG1vPt0XIfDlrM
7WLEK3RqrINyvfftsqAvjLHuO+WnI6+otSD0n9lFeUg01RVYBMh6IY9gY3EN3sQV
U4K0D7Dx2GHXxUu6LwjzfxHUlGB/uxfTjCbQySTB9lPQJfsQ+Ncnu/ox0ceblV/T
BrksIyyomkQa8AjSqKZ+xsODn9kNQqw5uluFPqnASv24
-----END ENCRYPTED PRIVATE KEY-----
`
	scryptKey = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHkME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAhg8TaHswtNaAICQAAC
AQgCAQEwHQYJYIZIAWUDBAEqBBCCU/XJF9hT8RU6e0TYOzS2BIGQ4+gC+WgZDuMK
tLT+Zcu759hzlJon4L/jRFzeAR4B46APDNPfX29z7QAWJx1KcA7boTesYqifk5Cn
LHHzpOBUWS9g/ol0BvFtCwooNzoBZacLrrHlAlafGUJnUi1uD8s1cVPT1sTofK2p
hUZXkU7gm/t/SB/rT4Rwvod/Cb8QjZ5lhjRiu5CXg4Zm/rd6zPq0
-----END ENCRYPTED PRIVATE KEY-----
`
	pbes1Key = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGxMBwGCiqGSIb3DQEMAQMwDgQIZOWkkO3TiOsCAggABIGQVrzEiDW64vesLT0W
gSat2FOQoIhQzfTIhqytrGD8KbpDkJynH6w4blHFNTeH9KeW6uy8PZl8rAAqpcY9
FR3sTqBTPoY1CAXa0QzuFSINa7hfhlYZDtu+btFnu/6vGCpOP8QdTCPbGnWxXd/b
+Ynv0AEHhyK9tuTCCOyfxAy/NVfzvG6+CnY0sjilDDLxzAK9
-----END ENCRYPTED PRIVATE KEY-----
`
)

// keyOf returns the key of the only block.
func keyOf(t *testing.T, text []byte) any {
	t.Helper()
	block, rest := pem.Decode(text)
	require.NotNil(t, block)
	require.Empty(t, rest)
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	require.NoError(t, err)
	return key
}

func TestDecryptKey(t *testing.T) {
	for _, row := range []struct{ name, text, pass, want, err string }{
		{"not encrypted", plainKey, "", plainKey, ""},
		{"not encrypted, with a passphrase", plainKey, "any", plainKey, ""},
		{"behind something else", "text\n" + plainEC, "", plainEC, ""},
		{"legacy", legacyKey, "secret", plainEC, ""},
		{"PKCS #8", pkcs8Key, "secret", plainKey, ""},
		{"PKCS #8, SHA-1", sha1Key, "secret", plainKey, ""},

		{"legacy, no passphrase", legacyKey, "", "", "encrypted, but there is no passphrase"},
		{"PKCS #8, no passphrase", pkcs8Key, "", "", "encrypted, but there is no passphrase"},
		{"legacy, wrong", legacyKey, "Secret", "", "the passphrase does not decrypt it"},
		{"PKCS #8, wrong", pkcs8Key, "Secret", "", "the passphrase does not decrypt it"},
		{
			"scrypt", scryptKey, "secret", "",
			"key derivation 1.3.6.1.4.1.11591.4.11 is not supported" + howToEncrypt,
		},
		{
			"PBES1", pbes1Key, "secret", "",
			"encryption scheme 1.2.840.113549.1.12.1.3 is not supported" + howToEncrypt,
		},
		{"empty", "", "", "", "no private key in PEM"},
		{"no PEM", "\x30\x82\x00", "", "", "no private key in PEM"},
		{"cut off", pkcs8Key[:len(pkcs8Key)/2], "secret", "", "no private key in PEM"},
	} {
		got, err := decryptKey([]byte(row.text), row.pass)
		if row.err != "" {
			require.EqualError(t, err, row.err, row.name)
			continue
		}
		require.NoError(t, err, row.name)
		require.Equal(t, keyOf(t, []byte(row.want)), keyOf(t, got), row.name)
	}
}

// FuzzDecryptKey: a file of any bytes is an error or a key, and takes bounded time.
func FuzzDecryptKey(f *testing.F) {
	for _, text := range []string{plainKey, legacyKey, pkcs8Key, sha1Key, scryptKey, pbes1Key} {
		block, _ := pem.Decode([]byte(text))
		f.Add(block.Bytes, "secret")
	}
	f.Fuzz(func(t *testing.T, der []byte, pass string) {
		if block, err := decryptPKCS8(der, pass); err == nil {
			require.NotEmpty(t, block.Bytes)
		}
	})
}
