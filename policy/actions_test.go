package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/policy"
)

const actions = `
domain: edge
rate_limits:
- actions:
  - remote_address: {}
- actions:
  - generic_key: {descriptor_value: api}
  - request_headers: {header_name: ":path", descriptor_key: path}
- actions:
  - generic_key: {descriptor_key: kind, descriptor_value: keyed}
  - request_headers: {header_name: X-Key, descriptor_key: key}
- actions:
  - request_headers: {header_name: ":method", descriptor_key: method}
  - request_headers: {header_name: x-tenant, descriptor_key: tenant, skip_if_absent: true}
- actions:
  - request_headers: {header_name: x-only, descriptor_key: only, skip_if_absent: true}
`

// attributes returns those of a request with these headers, which has an address unless that is "".
func attributes(address string, headers map[string]string) *policy.Attributes {
	return &policy.Attributes{
		Header: func(name string) (string, bool, error) {
			value, ok := headers[name]
			if value == "!" {
				return "", false, errAttribute
			}
			return value, ok, nil
		},
		Address: func() (string, error) {
			if address == "" {
				return "", errAttribute
			}
			return address, nil
		},
	}
}

var errAttribute = errors.New("not here")

func TestDescriptorsOfRequests(t *testing.T) {
	d := mustRead(t, actions).Domain([]byte("edge"))
	require.True(t, d.MakesDescriptors())
	for _, c := range []struct {
		headers map[string]string
		want    string
	}{
		{map[string]string{":path": "/a", ":method": "GET"}, "remote_address=1.2.3.4; " +
			"generic_key=api path=/a; method=GET"},
		{
			map[string]string{":path": "/a", ":method": "GET", "x-key": "k", "x-tenant": "t", "x-only": ""},
			"remote_address=1.2.3.4; generic_key=api path=/a; kind=keyed key=k; method=GET tenant=t; only=",
		},
		{map[string]string{"X-Key": "k"}, "remote_address=1.2.3.4"},
	} {
		all, err := d.Descriptors(attributes("1.2.3.4", c.headers))
		require.NoError(t, err)
		var text []string
		for _, one := range all {
			require.Equal(t, int64(1), one.Hits)
			var entries []string
			for _, e := range one.Entries {
				entries = append(entries, fmt.Sprintf("%s=%s", e.Key, e.Value))
			}
			text = append(text, strings.Join(entries, " "))
		}
		require.Equal(t, c.want, strings.Join(text, "; "))
	}
	for _, a := range []*policy.Attributes{
		attributes("", nil), attributes("1.2.3.4", map[string]string{":path": "!"}),
	} {
		_, err := d.Descriptors(a)
		require.ErrorIs(t, err, errAttribute)
	}
	require.False(t, mustRead(t, "domain: d\n").Domain([]byte("d")).MakesDescriptors())
}

func TestBoundsOfRateLimits(t *testing.T) {
	entries := "domain: d\nrate_limits:\n" + strings.Repeat("- actions: [{remote_address: {}}]\n", 64)
	mustRead(t, entries)
	_, err := read(entries + "- actions: [{remote_address: {}}]\n")
	require.ErrorContains(t, err, "a.yaml:67: rate_limits has more than 64 entries")
	of := "domain: d\nrate_limits:\n- actions:\n" + strings.Repeat("  - remote_address: {}\n", 32)
	mustRead(t, of)
	_, err = read(of + "  - remote_address: {}\n")
	require.ErrorContains(t, err, "a.yaml:36: an entry of rate_limits has more than 32 actions")
}
