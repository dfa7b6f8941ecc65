package policy_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/race"
)

// keysFile has no '_' in names of domains and keys, which would let them run together.
const keysFile = `
domain: d
descriptors:
  - key: k
    rate_limit: {unit: minute, requests_per_unit: 3}
    descriptors:
      - key: b
        rate_limit: {unit: minute, requests_per_unit: 3}
        descriptors:
          - key: c
            rate_limit: {unit: minute, requests_per_unit: 3}
      - key: minute
        limits: [{limit: 1, window: 1s}]
  - key: k
    value: a_b_c*
    share_threshold: true
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: k
    value: "x}%5F*"
    share_threshold: true
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: b
    limits: [{limit: 1, window: 1s}]
---
domain: d2
descriptors:
  - key: k
    rate_limit: {unit: minute, requests_per_unit: 3}
---
domain: all
count: all
descriptors:
  - key: k
    rate_limit: {unit: minute, requests_per_unit: 3}
`

// keyOf returns the key of a descriptor, "" without a limit, and the policy's name.
func keyOf(t *testing.T, set *policy.Set, domain string, entries []string) (key, name string) {
	t.Helper()
	d := policy.Descriptor{Hits: 1}
	for i := 0; i < len(entries); i += 2 {
		d.Entries = append(d.Entries, policy.Entry{Key: []byte(entries[i]), Value: []byte(entries[i+1])})
	}
	_, limits, err := set.Resolve(new(policy.Matcher), []byte(domain), []policy.Descriptor{d})
	require.NoError(t, err)
	if limits[0].Policy == nil {
		return "", ""
	}
	return string(limits[0].Key), limits[0].Policy.Name
}

// TestKeysAreDistinct: clients that choose values reach no key of other descriptors.
func TestKeysAreDistinct(t *testing.T) {
	race.OneGoroutine(t)
	set := mustRead(t, keysFile)
	pieces := []string{
		"a", "b", "c", "_", "*", "%", "5F", "{", "}", "minute", "_minute", "a_b_c", "_b_", "c*", ":slots", "",
		"d", "d2", "x}%5F",
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	shared := map[string]bool{"d.k_a_b_c*": true, "d.k_x}%5F*": true}
	owners := make(map[string]string)
	for range 100_000 {
		entries := []string{}
		paths := [][]string{{"k"}, {"k", "b"}, {"k", "b", "c"}, {"k", "minute"}, {"b"}}
		for _, key := range paths[r.IntN(len(paths))] {
			value := ""
			for range r.IntN(4) {
				value += pieces[r.IntN(len(pieces))]
			}
			entries = append(entries, key, value)
		}
		domain := []string{"d", "d2", "all"}[r.IntN(3)]
		key, name := keyOf(t, set, domain, entries)
		if key == "" {
			continue
		}
		owner := fmt.Sprintf("%s %q", domain, entries)
		if shared[name] {
			owner = name
		}
		if before, ok := owners[key]; ok {
			require.Equal(t, before, owner, "two have the key %s", key)
		}
		owners[key] = owner
	}
}

// TestKeysOfSharedWildcards: the value of the file is as unable to run into others as those of clients.
func TestKeysOfSharedWildcards(t *testing.T) {
	set := mustRead(t, keysFile)
	shared, _ := keyOf(t, set, "d", []string{"k", "a_b_cd"})
	nested, _ := keyOf(t, set, "d", []string{"k", "a", "b", "c*"})
	require.NotEqual(t, nested, shared)

	literal, _ := keyOf(t, set, "d", []string{"k", "a_b_c*"})
	require.Equal(t, shared, literal, "the pattern itself is one of its values")

	braces, _ := keyOf(t, set, "d", []string{"k", "x}%5Fy"})
	require.NotContains(t, braces, "}", "which would end the hash tag of its slots")
}

// TestLongRequests: what a request makes is bounded, and so is what is kept of it.
func TestLongRequests(t *testing.T) {
	set := mustRead(t, keysFile)
	m := new(policy.Matcher)
	request := func(size int) []policy.Descriptor {
		value := bytes.Repeat([]byte("_"), size)
		return []policy.Descriptor{{Entries: []policy.Entry{{Key: []byte("k"), Value: value}}, Hits: 1}}
	}
	_, limits, err := set.Resolve(m, []byte("d"), request(1<<16-2))
	require.NoError(t, err)
	key := limits[0].Key
	require.Len(t, key, len("d_k__minute")+3*(1<<16-2))
	require.Greater(t, m.Kept(), len(key))
	m.Trim()
	require.LessOrEqual(t, m.Kept(), 1<<13)
	require.True(t, bytes.HasSuffix(key, []byte("%5F_minute")), "the key stays")

	_, _, err = set.Resolve(m, []byte("d"), request(1<<16-1))
	require.ErrorIs(t, err, policy.ErrLong)
	require.LessOrEqual(t, m.Kept(), 1<<13)

	require.Contains(t, call(set, "d"+strings.Repeat(" k v", 32)), "0 COST 1 POLICY")
	require.Equal(t, "! at most 32 keys can be given", call(set, "d"+strings.Repeat(" k v", 33)))
}

// TestManyPolicies: the bound of limits applies before that of elements.
func TestManyPolicies(t *testing.T) {
	race.OneGoroutine(t)
	var file strings.Builder
	file.WriteString("domain: d\ndescriptors:\n")
	for i := range 100_001 {
		fmt.Fprintf(&file, "- key: k%d\n  rate_limit: {unit: day, requests_per_unit: 5}\n", i)
	}
	_, err := read(file.String())
	require.EqualError(t, err, "more than 100000 limits")
}
