package recorded

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/zlimittest"
)

func TestParseLine(t *testing.T) {
	const line = `1700000000.123456 [0 127.0.0.1:5] "EVAL" "a \"b\"\n\\n\x00\xff" "0" ""`
	words, scripted, err := parseLine(line)
	require.NoError(t, err)
	require.False(t, scripted)
	require.Equal(t, []string{"EVAL", "a \"b\"\n\\n\x00\xff", "0", ""}, words)
	_, scripted, err = parseLine(`1700000000.123456 [0 lua] "get" "k"`)
	require.NoError(t, err)
	require.True(t, scripted)
	for _, bad := range []string{
		"", "OK", `1 [0 x] `, `1 [0 x] "a`, `1 [0 x] "a\`, `1 [0 x] a`, `1 [0 x] "\xzz"`,
	} {
		_, _, err := parseLine(bad)
		require.ErrorIs(t, err, errMonitor, bad)
	}
}

const source = "redis.call('INCRBY', KEYS[1], ARGV[1]) return {KEYS[1], ARGV[2]}"

func TestRecorder(t *testing.T) {
	r := &recorder{names: []string{"other-over", "user-over"}, until: "user-edge", known: map[string]string{}}
	sha := sumOf(source)
	lines := []string{
		`+1.1 [0 a:1] "FLUSHALL"`,
		`+1.1 [0 a:1] "EVALSHA" "` + sha + `" "1" "p:user-over" "1" "x"`, // NOSCRIPT
		`+1.1 [0 a:1] "script" "load" "` + source + `"`,
		`+1.1 [0 a:1] "evalsha" "` + sha + `" "1" "p:user-over" "1" "x"`,
		`+1.1 [0 lua] "INCRBY" "p:user-over" "1"`,
		`+1.1 [0 a:1] "GET" "p:user-over"`,
		`+1.1 [0 a:1] "EVAL" "` + source + `" "1" "p:user-over" "2" "x"`,
		`+1.1 [0 a:1] "EVAL" "` + source + `" "1" "another" "2" "x"`,
		`+1.1 [0 a:1] "EVALSHA" "` + sha + `" "1" "p:user-edge" "1" "x"`,
		`+1.1 [0 a:1] "EVALSHA" "` + sha + `" "1" "p:user-over" "1" "x"`,
	}
	require.NoError(t, r.read(bufio.NewReader(strings.NewReader(strings.Join(lines, "\r\n")+"\r\n"))))
	require.Equal(t, [][]string{
		{"EVALSHA", sha, "1", "p:user-over", "1", "x"}, {"EVALSHA", sha, "1", "p:user-over", "2", "x"},
	}, r.Calls)
	require.Equal(t, []string{source}, r.Scripts)

	r = &recorder{names: []string{"user-over"}, until: "user-edge", plain: true, known: map[string]string{}}
	require.NoError(t, r.read(bufio.NewReader(strings.NewReader(strings.Join(lines, "\r\n")+"\r\n"))))
	require.Len(t, r.Calls, 3)
	require.Equal(t, []string{"GET", "p:user-over"}, r.Calls[1])
}

// Every key gets every call once, in order, whatever the depth.
func TestReplay(t *testing.T) {
	sha := sumOf(source)
	for _, pipeline := range []int{1, 16} {
		srv := zlimittest.RunT(t)
		replay := &Replay{
			Recording: &Recording{
				Scripts: []string{source}, Name: "user-over",
				Calls: [][]string{
					{"EVALSHA", sha, "1", "p:user-over", "1", "user-over:user-over"},
					{"EVALSHA", sha, "1", "p:user-over", "41", "x"},
				},
			},
			Keys: 103, Connections: 7, Pipeline: pipeline,
		}
		require.Equal(t, 206, replay.Calls())
		// Another server, since one may still run what was sent before the error.
		err := replay.Run(t.Context(), zlimittest.RunT(t).Addr())
		require.ErrorIs(t, err, errReply, "the script is not loaded")
		require.NoError(t, replay.Recording.Load(func(args ...string) (string, error) {
			conn, err := net.Dial("tcp", srv.Addr())
			if err != nil {
				return "", err
			}
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%d\r\n%s\r\n",
				len(source), args[2])
			return "", errors.Join(err, skipReply(bufio.NewReader(conn)))
		}))
		require.NoError(t, replay.Run(t.Context(), srv.Addr()))
		for _, name := range []string{"p:0000000000000000", "p:0000000000000102"} {
			srv.Key(name).RequireValue("42")
		}
		require.False(t, srv.Key("p:0000000000000103").Exists())
	}
}
