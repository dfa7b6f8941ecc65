package server_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
)

// The scenes of replication are commands to a master and its replica, whose replies redis-server has given;
// -record writes them anew.
var scenesFile = filepath.Join("testdata", "replication", "scenes.cases")

// variable matches what differs from run to run.
var variable = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// counted matches what counts bytes or seconds, such as a master's offset: it has pinged or not.
var counted = regexp.MustCompile(
	`((?:offset|histlen|offset=|seconds_ago|since_seconds|lag=|connected\r\n|master\r\n)[:=]?)\d+`)

// linkError matches a line that only INFO of ours has.
var linkError = regexp.MustCompile(`master_link_error:.*\r\n`)

// playScene runs a scene on two servers of a kind.
func playScene(t *testing.T, s scenario.Section, k kind) scenario.Section {
	f := newFabric(t)
	f.held = slices.ContainsFunc(s.Steps, func(st scenario.Step) bool {
		return strings.HasPrefix(st.Line, "@jump")
	})
	master, replica := f.node(k), f.node(k, s.Directives...)
	_, port := master.hostPort()
	_, ownPort := replica.hostPort()
	names := strings.NewReplacer(port, "$MASTER", ownPort, "$SELF")
	own := func(do func(text string)) func(string) ([]byte, error) {
		return func(text string) ([]byte, error) { do(text); return nil, nil }
	}
	r := scenario.Runner{
		Dial: func(name string) (scenario.Client, error) {
			if name == "master" {
				return wireClient{master.wire}, nil
			}
			return wireClient{replica.wire}, nil
		},
		Vars: map[string]string{"MASTER": port, "SELF": ownPort},
		Own: map[string]func(string) ([]byte, error){
			"follow": own(func(string) {
				f.follow(replica, master)
				f.until(func() bool { return strings.Contains(master.field(t, "slave0"), "state=online") })
			}),
			"lose": own(func(string) {
				master.end()
				f.nodes = f.nodes[1:]
				f.until(func() bool { return replica.field(t, "master_link_status") != "up" })
			}),
			"jump": own(func(ms string) {
				n, err := strconv.ParseInt(ms, 10, 64)
				require.NoError(t, err)
				replica.jump(t, time.Duration(n)*time.Millisecond)
			}),
		},
		Normalize: func(step *scenario.Step, reply []byte) []byte {
			text := names.Replace(string(reply))
			if step.Action == scenario.Command && bytes.EqualFold(step.Args[0], []byte("INFO")) {
				_, text, _ = strings.Cut(text, "\r\n") // its length varies
				text = strings.Replace(text, "sentinels_connected:0\r\n", "", 1)
				text = linkError.ReplaceAllString(text, "")
			}
			text = variable.ReplaceAllString(text, "ID")
			return []byte(counted.ReplaceAllString(text, "${1}N"))
		},
	}
	return r.Run(s)
}

func readScenes(t *testing.T) []scenario.Section {
	f, err := scenario.ReadFile(scenesFile, "follow", "lose", "jump")
	require.NoError(t, err)
	return f.Sections
}

func requireScene(t *testing.T, s scenario.Section, k kind) {
	for _, fault := range playScene(t, s, k).Faults() {
		t.Error(fault)
	}
	for _, step := range s.Steps {
		if step.Action == scenario.Command && !step.IsRecorded {
			t.Errorf("%s: %s: no reply is recorded", step.Place(&s), step.Line)
		}
	}
}

// TestReplicationScenes: replicas of either kind answer alike.
func TestReplicationScenes(t *testing.T) {
	if *record {
		recordScenes(t)
	} else {
		t.Parallel()
	}
	for _, s := range readScenes(t) {
		t.Run(s.Title, func(t *testing.T) {
			t.Parallel()
			requireScene(t, s, ours)
		})
	}
}

// TestReplicationScenesOnRedis: the file has what redis-server answers.
func TestReplicationScenesOnRedis(t *testing.T) {
	t.Parallel()
	for _, s := range readScenes(t) {
		t.Run(s.Title, func(t *testing.T) {
			t.Parallel()
			requireScene(t, s, redis)
		})
	}
}

func recordScenes(t *testing.T) {
	var (
		mu   sync.Mutex // protects runs
		runs []scenario.Section
	)
	t.Run("record", func(t *testing.T) {
		for _, s := range readScenes(t) {
			t.Run(s.Title, func(t *testing.T) {
				t.Parallel()
				run := playScene(t, s, redis)
				mu.Lock()
				defer mu.Unlock()
				runs = append(runs, run)
			})
		}
	})
	require.NoError(t, scenario.Record(scenesFile, runs))
}
