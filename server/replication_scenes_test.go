package server_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A replicationScene is a list of commands whose replies redis-server has given. testdata/replication has
// them; -record writes them anew.
type replicationScene struct {
	name       string
	held       bool                                   // the clocks stand, but for jumps
	directives []string                               // of the replica
	prepare    func(f *fabric, master, replica *node) // nil: the replica follows the master
	commands   []string                               // to the replica; those behind "master: " to the master
	jump       time.Duration                          // of the replica's clock, before the commands
}

// variable matches what differs from run to run.
var variable = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// counted matches what counts bytes or seconds, such as a master's offset: it has pinged or not.
var counted = regexp.MustCompile(
	`((?:offset|histlen|offset=|seconds_ago|since_seconds|lag=|connected\r\n|master\r\n)[:=]?)\d+`)

// play returns the commands of a scene with their replies.
func (s *replicationScene) play(t *testing.T, k kind) string {
	f := newFabric(t)
	f.held = s.held
	master, replica := f.node(k), f.node(k, s.directives...)
	master.fill(t, sceneKeys...)
	if s.prepare == nil {
		f.follow(replica, master)
		f.until(func() bool { return strings.Contains(master.field(t, "slave0"), "state=online") })
	} else {
		s.prepare(f, master, replica)
	}
	replica.jump(t, s.jump)
	_, port := master.hostPort()
	_, ownPort := replica.hostPort()
	names := strings.NewReplacer(port, "$MASTER", ownPort, "$SELF")
	values := strings.NewReplacer("$MASTER", port, "$SELF", ownPort)
	var out bytes.Buffer
	for _, line := range s.commands {
		to, rest := replica, line
		if found, ok := strings.CutPrefix(line, "master: "); ok {
			to, rest = master, found
		}
		reply := names.Replace(to.do(t, values.Replace(rest)))
		if reply[0] == '$' && strings.HasPrefix(rest, "INFO") { // its length varies
			_, reply, _ = strings.Cut(reply, "\r\n")
			reply = strings.Replace(reply, "sentinels_connected:0\r\n", "", 1) // ours alone
		}
		reply = counted.ReplaceAllString(variable.ReplaceAllString(reply, "ID"), "${1}N")
		out.WriteString(line + "\n\t" + strconv.Quote(reply) + "\n")
	}
	return out.String()
}

func (s *replicationScene) file() string {
	return filepath.Join("testdata", "replication", strings.ReplaceAll(s.name, " ", "-")+".txt")
}

// TestReplicationScenes: replicas of either kind answer alike.
func TestReplicationScenes(t *testing.T) {
	t.Parallel()
	for _, s := range replicationScenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if *record {
				require.NoError(t, os.MkdirAll(filepath.Dir(s.file()), 0o755))
				require.NoError(t, os.WriteFile(s.file(), []byte(s.play(t, redis)), 0o644))
			}
			want, err := os.ReadFile(s.file())
			require.NoError(t, err)
			require.Equal(t, string(want), s.play(t, ours))
		})
	}
}

// TestReplicationScenesOnRedis: the files are what redis-server answers.
func TestReplicationScenesOnRedis(t *testing.T) {
	t.Parallel()
	for _, s := range replicationScenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(s.file())
			require.NoError(t, err)
			require.Equal(t, string(want), s.play(t, redis))
		})
	}
}
