package envoy

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/stretchr/testify/require"
)

const nextYear = 366 * 24 * time.Hour

// compareFiles loads each configuration of testdata into both deciders, which must accept
// or refuse it alike, and compares their answers about every descriptor of those that
// both accept.
//
// Those of differs must differ.
func compareFiles(t *testing.T, want, got Decider, differs map[string]string) {
	t.Helper()
	differ := func(name string, err error) {
		if reason := differs[name]; reason == "" {
			t.Errorf("%s: %v", name, err)
		}
		delete(differs, name)
	}
	differs = maps.Clone(differs)
	defer func() { require.Empty(t, differs, "these do not differ") }()
	for _, dir := range []string{"bad", "good"} {
		cases := readCases(t, path.Join("testdata", dir))
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			files := cases[name]
			if err := sameLoad(want, got, files); err != nil {
				differ(dir+"/"+name, err)
				continue
			}
			if dir == "bad" {
				continue
			}
			// Into the next window of every unit: many files have the same descriptors.
			require.NoError(t, errors.Join(want.Advance(nextYear), got.Advance(nextYear)))
			for _, r := range samples(files) {
				if err := compareStep(want, got, Step{Request: r}); err != nil {
					differ(dir+"/"+name, fmt.Errorf("%w\n%s", err, text(r)))
					break
				}
			}
		}
	}
}

// samples returns requests for every descriptor of files, each twice, so that a limit of 1
// denies the second.
func samples(files map[string]string) []*pb.RateLimitRequest {
	var all []*pb.RateLimitRequest
	for name, content := range files {
		root := config.ConfigFileContentToYaml(name, content)
		for _, entries := range paths(nil, root.Descriptors) {
			for range 2 {
				all = append(all, &pb.RateLimitRequest{
					Domain:      root.Domain,
					Descriptors: []*common.RateLimitDescriptor{{Entries: entries}},
				})
			}
		}
	}
	return all
}

// paths returns the entries that match each descriptor of a level and of those below it.
func paths(above []*common.RateLimitDescriptor_Entry, level []config.YamlDescriptor,
) (all [][]*common.RateLimitDescriptor_Entry) {
	for _, d := range level {
		key, value := d.Key, d.Value
		switch {
		case value == "":
			key, value = strings.TrimSuffix(key, "*"), "any"
		case strings.HasSuffix(value, "*"):
			value = strings.TrimSuffix(value, "*") + "more"
		}
		entries := append(above[:len(above):len(above)],
			&common.RateLimitDescriptor_Entry{Key: key, Value: value})
		all = append(append(all, entries), paths(entries, d.Descriptors)...)
	}
	return all
}

func TestFilesWithReference(t *testing.T) {
	addr := redisServer(t)
	o := Options{Headers: true, Metadata: true}
	compareFiles(t, newReference(t, addr, o), newReference(t, addr, o), nil)
}

// differences are the configurations that zlimit takes otherwise than the reference, and why.
var differences = map[string]string{
	"bad/file-in-directory-refused":        "directories in the directory are not read",
	"bad/second-file-not-yaml":             "files without .yaml or .yml are not read",
	"good/two-domains":                     "likewise, and directories",
	"good/dot-file-read-too":               "files whose names begin with a dot are not read: volumes have such",
	"good/document-end-then-garbage":       "every document of a file is read",
	"good/several-documents-second-broken": "likewise",
	"good/deep":                            "a descriptor has at most 32 entries, so no file needs more levels",
}

// TestFilesWithZlimit compares zlimit-server with the reference by the files of testdata.
func TestFilesWithZlimit(t *testing.T) {
	addr := redisServer(t)
	zlimit := startZlimit(t, buildZlimit(t), *nowFlag)
	o := Options{Headers: true, HeaderNames: zlimitHeaders, Metadata: true}
	compareFiles(t, newReference(t, addr, o), zlimit, differences)
}

// TestSamples requires that the samples reach every limit of a configuration.
func TestSamples(t *testing.T) {
	const content = `domain: d
descriptors:
  - key: a
    value: x*
    descriptors:
      - key: b
        rate_limit: {unit: day, requests_per_unit: 1}
  - key: c*
    rate_limit: {unit: day, requests_per_unit: 1}
`
	files := map[string]string{"a.yaml": content}
	r := newReference(t, redisServer(t), Options{})
	require.NoError(t, r.Load(files))
	denied := 0
	for _, s := range samples(files) {
		answer, err := r.Decide(s)
		require.NoError(t, err)
		if answer.OverallCode == pb.RateLimitResponse_OVER_LIMIT {
			denied++
		}
	}
	require.Equal(t, 2, denied)
}
