package upstream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/upstream/call"
)

// Failures say how decisions are answered while the upstream is away.
type Failures struct {
	Default  call.Policy
	Prefixes []PrefixFailure
}

// A PrefixFailure is the policy of the keys whose names begin with a prefix.
type PrefixFailure struct {
	Prefix string
	Policy call.Policy
}

var errFailure = errors.New("upstream-failure must be closed, open or local n, and then the same behind " +
	"prefixes of keys: closed login: open api: local 4")

// ParseFailures parses the words of upstream-failure: a policy, and pairs of a prefix and a policy.
func ParseFailures(words []string) (f Failures, err error) {
	if len(words) == 0 {
		return f, nil
	}
	if f.Default, words, err = parsePolicy(words); err != nil {
		return f, err
	}
	for len(words) > 0 {
		p := PrefixFailure{Prefix: words[0]}
		if p.Policy, words, err = parsePolicy(words[1:]); err != nil {
			return f, err
		}
		f.Prefixes = append(f.Prefixes, p)
	}
	return f, nil
}

func parsePolicy(words []string) (p call.Policy, rest []string, err error) {
	if len(words) == 0 {
		return p, nil, errFailure
	}
	switch strings.ToLower(words[0]) {
	case "closed":
		return call.Policy{Mode: call.Closed}, words[1:], nil
	case "open":
		return call.Policy{Mode: call.Open}, words[1:], nil
	case "local":
		if len(words) > 1 {
			if n, err := strconv.ParseInt(words[1], 10, 64); err == nil && n >= 1 {
				return call.Policy{Mode: call.Local, Share: n}, words[2:], nil
			}
		}
		return p, nil, fmt.Errorf("%w; n is the number of gateways, from 1", errFailure)
	}
	return p, nil, errFailure
}

// policy returns the policy of a key: that of the longest prefix.
func (f *Failures) policy(key []byte) call.Policy {
	longest, found := -1, f.Default
	for i := range f.Prefixes {
		p := &f.Prefixes[i]
		if len(p.Prefix) > longest && strings.HasPrefix(string(key), p.Prefix) {
			longest, found = len(p.Prefix), p.Policy
		}
	}
	return found
}
