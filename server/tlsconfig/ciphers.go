package tlsconfig

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A version of TLS has a word in tls-protocols.
type version struct {
	word   string
	number uint16
}

// versions are in ascending order.
var versions = []version{
	{"TLSv1", tls.VersionTLS10},
	{"TLSv1.1", tls.VersionTLS11},
	{"TLSv1.2", tls.VersionTLS12},
	{"TLSv1.3", tls.VersionTLS13},
}

//nolint:staticcheck // Redis' text
var errProtocols = errors.New("Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', " +
	"'TLSv1.2' and 'TLSv1.3'.")

// parseProtocols returns the lowest and the highest version. crypto/tls accepts all
// between them, so there must not be a gap.
func parseProtocols(text string) (lowest, highest uint16, err error) {
	if text == "" {
		return tls.VersionTLS12, tls.VersionTLS13, nil
	}
	var wanted [4]bool
	for word := range strings.SplitSeq(text, " ") {
		i := slices.IndexFunc(versions, func(v version) bool { return strings.EqualFold(v.word, word) })
		if i < 0 {
			return 0, 0, errProtocols
		}
		wanted[i] = true
	}
	for i, v := range versions {
		if !wanted[i] {
			continue
		}
		if lowest == 0 {
			lowest = v.number
		} else if !wanted[i-1] {
			return 0, 0, fmt.Errorf("tls-protocols: crypto/tls cannot leave out %s between two others",
				versions[i-1].word)
		}
		highest = v.number
	}
	return lowest, highest, nil
}

// suites are OpenSSL's names of the suites up to TLSv1.2 that crypto/tls offers and
// does not call insecure.
var suites = map[string]uint16{
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-ECDSA-AES128-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
	"ECDHE-ECDSA-AES256-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-RSA-AES128-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
	"ECDHE-RSA-AES256-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
}

// excluded are the exclusions that hold anyway: crypto/tls offers none of these
// unless told to.
var excluded = strings.Fields("!aNULL !eNULL !NULL !EXPORT !EXP !LOW !MEDIUM !MD5 !RC4 !DES !3DES !DSS " +
	"!PSK !SRP !CAMELLIA !ARIA !SEED !IDEA !kRSA !ADH !AECDH !DH !DHE !EDH")

// parseCiphers returns the suites up to TLSv1.2, or nil for those that crypto/tls
// chooses.
func parseCiphers(text string) ([]uint16, error) {
	var ids []uint16
	all := false
	isSeparator := func(r rune) bool { return strings.ContainsRune(":, ", r) }
	for word := range strings.FieldsFuncSeq(text, isSeparator) {
		id, known := suites[word]
		switch {
		case word == "DEFAULT" || word == "HIGH":
			all = true
		case known:
			ids = append(ids, id)
		case !slices.Contains(excluded, word):
			return nil, fmt.Errorf("tls-ciphers: crypto/tls has no %q; it has DEFAULT and %s", word,
				strings.Join(sortedNames(suites), ":"))
		}
	}
	if all || text == "" {
		return nil, nil
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("tls-ciphers %q leaves no cipher suite", text)
	}
	return ids, nil
}

// suites13 are the suites of TLSv1.3. crypto/tls always offers all of them.
var suites13 = map[string]uint16{
	"TLS_AES_128_GCM_SHA256":       tls.TLS_AES_128_GCM_SHA256,
	"TLS_AES_256_GCM_SHA384":       tls.TLS_AES_256_GCM_SHA384,
	"TLS_CHACHA20_POLY1305_SHA256": tls.TLS_CHACHA20_POLY1305_SHA256,
}

// checkCipherSuites refuses every choice of suites of TLSv1.3, since crypto/tls
// lets nobody choose.
func checkCipherSuites(text string) error {
	if text == "" {
		return nil
	}
	words := strings.Split(text, ":")
	for _, word := range words {
		if _, known := suites13[word]; !known {
			return fmt.Errorf("tls-ciphersuites: crypto/tls has no %q; it has %s", word,
				strings.Join(sortedNames(suites13), ":"))
		}
	}
	for _, name := range sortedNames(suites13) {
		if !slices.Contains(words, name) {
			return fmt.Errorf("tls-ciphersuites: crypto/tls cannot leave out %s; leave the directive empty",
				name)
		}
	}
	return nil
}

func sortedNames(m map[string]uint16) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
