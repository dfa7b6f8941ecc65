package policies_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/policies"
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scenario"
)

// A world is policies whose files a test writes.
type world struct {
	t        *testing.T
	policies policies.Policies
	dir      string
	seen     *policy.Set // at the last look
	changed  int
	log      strings.Builder
}

// open begins with files in a place of the directory.
func (w *world) open(place string) {
	if place != "" {
		place = filepath.Join(w.dir, place)
	}
	cfg := config.New()
	require.NoError(w.t, cfg.ParseArgs([]string{"--rl-policies", place}, nil))
	w.policies.Init(cfg.View(), slog.New(slog.NewTextHandler(&w.log, nil)), func() { w.changed++ })
}

// add writes behind what a file has.
func (w *world) add(path string, text []byte) {
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(w.t, err)
	_, err = f.Write(text)
	require.NoError(w.t, err)
	require.NoError(w.t, f.Close())
}

// answer runs a line.
func (w *world) answer(args [][]byte) []byte {
	arg := string(append(args, nil)[1])
	number, _ := strconv.Atoi(string(args[len(args)-1])) // 0 for a word
	path, reply := filepath.Join(w.dir, arg), any("OK")
	switch string(args[0]) {
	case "RL.POLICY":
		row := w.policies.Row()
		c := &commands.Ctx{Cmd: row.Sub(args[1]), Args: args}
		c.Settings = &commands.Settings{}
		v := c.Cmd.Handler(c)
		return resp.Append(nil, &v, resp.RESP2)
	case "open":
		w.open(arg)
	case "load":
		if err := w.policies.Load(); err != nil {
			reply = err
		}
	case "write": // a file anew
		_ = os.Remove(path)
		w.add(path, args[2])
	case "append":
		w.add(path, args[2])
	case "pad": // a comment of so many bytes
		_ = os.Remove(path)
		w.add(path, bytes.Repeat([]byte{'#'}, number))
	case "same": // as at the last look
		before := w.seen
		w.seen = w.policies.Set()
		reply = w.seen == before
	case "changed":
		reply = w.changed
	case "log":
		reply = w.log.String()
	case "deny":
		w.policies.Set().Find(arg).Counts().Deny()
	case "denied":
		reply = w.policies.Set().Find(arg).Counts().Tally().Denied
	case "figures": // so many policies
		var names []string
		for _, f := range w.policies.Figures(number) {
			names = append(names, f.Name+" "+f.Mode)
		}
		reply = strings.Join(names, ", ")
	case "stats":
		_, reply = w.policies.Stats()
	default:
		reply = "unknown word"
	}
	text := fmt.Sprint(reply)
	return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text)
}

func TestCases(t *testing.T) {
	scenario.Play(t, "testdata/*.cases", func(t *testing.T, _ scenario.Section) *scenario.Runner {
		c := scenario.Answering((&world{t: t, dir: t.TempDir()}).answer)
		return &scenario.Runner{Dial: func(string) (scenario.Client, error) { return c, nil }}
	})
}
