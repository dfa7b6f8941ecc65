package tlsconfig

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"strings"
)

var (
	errNoKey     = errors.New("no private key in PEM")
	errNoPass    = errors.New("encrypted, but there is no passphrase")
	errWrongPass = errors.New("the passphrase does not decrypt it")
)

// decryptKey returns the private key of a PEM file as a PEM file without
// encryption. As with OpenSSL, the first private key counts, and a passphrase for a
// key that is not encrypted is ignored.
func decryptKey(text []byte, pass string) ([]byte, error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return nil, errNoKey
		}
		if block.Type != "PRIVATE KEY" && !strings.HasSuffix(block.Type, " PRIVATE KEY") {
			continue
		}
		encrypted := block.Type == "ENCRYPTED PRIVATE KEY"
		legacy := x509.IsEncryptedPEMBlock(block) //nolint:staticcheck // see decryptLegacy
		if (encrypted || legacy) && pass == "" {
			return nil, errNoPass
		}
		var err error
		switch {
		case legacy:
			block, err = decryptLegacy(block, pass)
		case encrypted:
			block, err = decryptPKCS8(block.Bytes, pass)
		}
		if err != nil {
			return nil, err
		}
		return pem.EncodeToMemory(block), nil
	}
}

// decryptLegacy decrypts a block with the headers of RFC 1423. Its use is
// deprecated because who can alter the file learns from the errors; here the file
// is the operator's, and OpenSSL before 3.0 wrote such files.
func decryptLegacy(block *pem.Block, pass string) (*pem.Block, error) {
	der, err := x509.DecryptPEMBlock(block, []byte(pass)) //nolint:staticcheck // see above
	if errors.Is(err, x509.IncorrectPasswordError) {
		return nil, errWrongPass
	}
	if err != nil {
		return nil, withoutPrefix(err)
	}
	return &pem.Block{Type: block.Type, Bytes: der}, nil
}

// The structures of PKCS #8 (RFC 5958) and PKCS #5 (RFC 8018).
type (
	algorithm struct {
		ID         asn1.ObjectIdentifier
		Parameters asn1.RawValue `asn1:"optional"`
	}
	encryptedKey struct {
		Algorithm algorithm
		Data      []byte
	}
	pbes2 struct{ Derivation, Cipher algorithm }

	pbkdf2Parameters struct {
		Salt       []byte
		Iterations int
		KeyBytes   int       `asn1:"optional"`
		Hash       algorithm `asn1:"optional"`
	}
)

var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
)

// keyBytes has the key lengths of the ciphers, AES in CBC mode.
var keyBytes = map[string]int{
	"2.16.840.1.101.3.4.1.2":  16,
	"2.16.840.1.101.3.4.1.22": 24,
	"2.16.840.1.101.3.4.1.42": 32,
}

// hashes are those of PBKDF2's pseudorandom function. The empty one is the default.
var hashes = map[string]func() hash.Hash{
	"":                    sha1.New,
	"1.2.840.113549.2.7":  sha1.New,
	"1.2.840.113549.2.8":  sha256.New224,
	"1.2.840.113549.2.9":  sha256.New,
	"1.2.840.113549.2.10": sha512.New384,
	"1.2.840.113549.2.11": sha512.New,
}

// maxIterations bounds how long PBKDF2 takes, to some seconds.
const maxIterations = 10_000_000

const howToEncrypt = "; encrypt it with openssl pkcs8 -topk8 -v2 aes256"

// decryptPKCS8 decrypts a key as openssl pkcs8 and OpenSSL 3 write it: PBES2 with
// PBKDF2 and AES.
func decryptPKCS8(der []byte, pass string) (*pem.Block, error) {
	var key encryptedKey
	if err := unmarshal(der, &key); err != nil {
		return nil, errors.New("invalid encrypted private key")
	}
	var scheme pbes2
	if !key.Algorithm.ID.Equal(oidPBES2) || unmarshal(key.Algorithm.Parameters.FullBytes, &scheme) != nil {
		return nil, fmt.Errorf("encryption scheme %v is not supported"+howToEncrypt, key.Algorithm.ID)
	}
	var parameters pbkdf2Parameters
	if !scheme.Derivation.ID.Equal(oidPBKDF2) ||
		unmarshal(scheme.Derivation.Parameters.FullBytes, &parameters) != nil {
		return nil, fmt.Errorf("key derivation %v is not supported"+howToEncrypt, scheme.Derivation.ID)
	}
	newHash, length := hashes[parameters.Hash.ID.String()], keyBytes[scheme.Cipher.ID.String()]
	var iv []byte
	switch {
	case newHash == nil:
		return nil, fmt.Errorf("hash %v of the key derivation is not supported"+howToEncrypt,
			parameters.Hash.ID)
	case length == 0 || unmarshal(scheme.Cipher.Parameters.FullBytes, &iv) != nil || len(iv) != aes.BlockSize:
		return nil, fmt.Errorf("cipher %v is not supported"+howToEncrypt, scheme.Cipher.ID)
	case parameters.Iterations < 1 || parameters.Iterations > maxIterations:
		return nil, fmt.Errorf("the key derivation has %d iterations, more than %d"+howToEncrypt,
			parameters.Iterations, maxIterations)
	case len(key.Data) == 0 || len(key.Data)%aes.BlockSize != 0:
		return nil, errors.New("invalid encrypted private key")
	}
	secret, err := pbkdf2.Key(newHash, pass, parameters.Salt, parameters.Iterations, length)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(key.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, key.Data)
	// Wrong padding or no structure below it: another passphrase.
	padding := int(plain[len(plain)-1])
	if padding < 1 || padding > aes.BlockSize {
		return nil, errWrongPass
	}
	plain = plain[:len(plain)-padding]
	if _, err := x509.ParsePKCS8PrivateKey(plain); err != nil {
		return nil, errWrongPass
	}
	return &pem.Block{Type: "PRIVATE KEY", Bytes: plain}, nil
}

// unmarshal parses all of der.
func unmarshal(der []byte, into any) error {
	rest, err := asn1.Unmarshal(der, into)
	if err == nil && len(rest) > 0 {
		err = errors.New("trailing bytes")
	}
	return err
}
