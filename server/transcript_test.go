package server_test

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/scenario"
)

// The transcripts are Redis' own replies, recorded once and replayed against our
// server on machines without Redis. A case file (NAME.cases) is written by hand,
// its recordings (NAME.resp2, NAME.resp3) by -record; package scenario describes
// the format. Recordings omit what @mask and the other forms exclude, so that
// recording again changes nothing.
var (
	record = flag.Bool("record", false,
		"run the transcripts' cases against redis-server 7.0.15 under libfaketime and write the "+
			"recordings anew")
	againstRedis = flag.Bool("against-redis", false,
		"replay the recordings against redis-server itself, to see that they can be repeated")
)

const (
	transcriptDir   = "testdata/transcripts"
	recordedVersion = "7.0.15"
)

func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(transcriptDir, "*.cases"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	if *record {
		requireRecordedVersion(t)
	}
	for _, file := range files {
		for _, protocol := range []int{2, 3} {
			name := strings.TrimSuffix(file, ".cases")
			recording := fmt.Sprintf("%s.resp%d", name, protocol)
			t.Run(filepath.Base(recording), func(t *testing.T) {
				cases := readTranscript(t, file).Under(protocol)
				if *record {
					recordTranscript(t, cases, protocol, recording)
					return
				}
				recorded := readTranscript(t, recording)
				require.Equal(t, cases.Lines(), recorded.Lines(),
					"%s is older than %s: run go test ./server -run TestTranscripts -record", recording, file)
				for i, want := range recorded.Sections {
					t.Run(want.Title, func(t *testing.T) {
						t.Parallel()
						dial, setClock := startForTranscript(t, cases.Sections[i])
						got := runSection(cases.Sections[i], protocol, dial, setClock)
						for _, difference := range scenario.Differences(want, got) {
							t.Error(difference)
						}
					})
				}
			})
		}
	}
}

// startForTranscript starts the server of one section. Each section has its own, so
// that no keys, scripts or settings carry over.
func startForTranscript(t *testing.T, c scenario.Section) (dial func() net.Conn, setClock func(nowMs int64)) {
	if *againstRedis {
		return startOracle(t, append(c.Redis, c.Directives...))
	}
	return startForTest(t, c.Directives...)
}

func readTranscript(t *testing.T, path string) scenario.File {
	t.Helper()
	f, err := scenario.ReadFile(path)
	require.NoError(t, err, "for a recording: go test ./server -run TestTranscripts -record")
	return f
}

// startOracle starts a redis-server. One with cluster-enabled has all slots.
func startOracle(t *testing.T, flags []string) (dial func() net.Conn, setClock func(nowMs int64)) {
	var redis interface {
		Addrs() []string
		SetClock(nowMs int64) error
		Close() error
	}
	var err error
	o := oracle.Options{NowMs: scenario.StartMs, Args: flags}
	if slices.Contains(flags, "--cluster-enabled") {
		redis, err = oracle.StartCluster(o, 1)
	} else {
		redis, err = oracle.Start(o)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, redis.Close()) })
	dial = func() net.Conn {
		c, err := net.Dial("tcp", redis.Addrs()[0])
		require.NoError(t, err)
		return c
	}
	return dial, func(nowMs int64) { require.NoError(t, redis.SetClock(nowMs)) }
}

func recordTranscript(t *testing.T, cases scenario.File, protocol int, path string) {
	var out bytes.Buffer
	done := 0
	for i, c := range cases.Sections {
		// A subtest, so that each section's Redis ends before the next starts.
		t.Run(c.Title, func(t *testing.T) {
			dial, setClock := startOracle(t, append(c.Redis, c.Directives...))
			if i > 0 {
				out.WriteByte('\n')
			}
			got := runSection(c, protocol, dial, setClock)
			for _, s := range got.Steps {
				require.NoError(t, s.Failed, s.Line)
			}
			got.Print(&out)
			done++
		})
	}
	// A -run pattern that selects sections must not drop the others.
	require.Equal(t, len(cases.Sections), done, "%s is unchanged", path)
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
}

// requireRecordedVersion prevents recordings that mix two releases.
func requireRecordedVersion(t *testing.T) {
	dial, _ := startOracle(t, nil)
	c := dial()
	defer func() { require.NoError(t, c.Close()) }()
	w := newWire(c)
	require.NoError(t, w.send([][]byte{[]byte("INFO"), []byte("server")}))
	info, err := w.readReply()
	require.NoError(t, err)
	require.Contains(t, string(info), "redis_version:"+recordedVersion+"\r\n")
}
