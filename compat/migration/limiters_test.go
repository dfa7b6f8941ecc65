package migration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// unreported takes the place of what a limiter does not report.
const unreported = -1

// A limiter is one limiter's connection to a server. hit asks for a unit of a key with a
// limit in a number of seconds. The remaining units may be unreported.
type limiter interface {
	connect(port int) error
	hit(key string, limit, seconds int64) (allowed bool, remaining int64, err error)
	close()
}

// A subject is a limiter under test.
type subject struct {
	name      string
	algorithm algorithm
	// denials are counted by the limiter too, so that a client that goes on asking is never
	// admitted again; so it waits for a window after a denial.
	denials bool
	// steps are the limiter's commands, each atomic alone. One that fails at the second has
	// taken a unit that it does not report.
	steps bool
	start func(t *testing.T) limiter
}

// An algorithm says what a limiter promises of windows that end during the test.
type algorithm int

const (
	slidingWindow algorithm = iota // no more than the limit in any window
	fixedWindow                    // a window begins with the first unit after the last one
	slicedWindow                   // a window begins at each multiple of its length
	gcra                           // the limit at once, and then one for each of its parts of the window
	approximate                    // nothing exact
)

// subjects are the documents' limiters and those of libraries.
var subjects = []subject{
	{name: "commands", algorithm: slidingWindow, steps: true, start: inDocument(byCommands)},
	{name: "pipeline", algorithm: slidingWindow, denials: true, start: inDocument(byPipeline)},
	{name: "slices", algorithm: slicedWindow, steps: true, start: inDocument(bySlices)},
	{name: "script-without-expiry", algorithm: slidingWindow, start: inDocument(withoutExpiry)},
	{name: "script-with-expiry", algorithm: slidingWindow, start: inDocument(withExpiry)},
	{name: "script-adding-first", algorithm: slidingWindow, denials: true, start: inDocument(addingFirst)},
	{name: "limits-moving", algorithm: slidingWindow, start: inPython("limits", "moving-window")},
	{name: "limits-fixed", algorithm: fixedWindow, start: inPython("limits", "fixed-window")},
	{name: "limits-counter", algorithm: approximate, start: inPython("limits", "sliding-window-counter")},
	{name: "rate-limiter-flexible", algorithm: fixedWindow, start: inNode("rate-limiter-flexible")},
	{name: "rate-limit-redis", algorithm: fixedWindow, start: inNode("rate-limit-redis")},
	{name: "fastify-rate-limit", algorithm: fixedWindow, start: inNode("fastify-rate-limit")},
	{name: "redis_rate", algorithm: gcra, start: inGo("redis_rate", "gcra")},
	// Its keys live for whole seconds, rounded down: after a pause it forgets up to a second.
	{name: "throttled", algorithm: approximate, start: inGo("throttled", "gcra")},
}

// libraries is the folder of the programs that drive libraries.
const libraries = "../libraries"

func inPython(library, flow string) func(*testing.T) limiter {
	dir := filepath.Join(libraries, "python")
	return inProgram(filepath.Join(dir, ".venv/bin/python"), filepath.Join(dir, "calls.py"), library, flow)
}

func inNode(library string) func(*testing.T) limiter {
	return inProgram("node", filepath.Join(libraries, "node/calls.js"), library, "fixed-window")
}

func inGo(library, flow string) func(*testing.T) limiter {
	return inProgram("../.bin/libraries-go", "--calls", "--library", library, "--flow", flow)
}

// A program is one of compat/libraries, which makes the calls that it is asked for.
type program struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// inProgram starts a program.
func inProgram(path string, args ...string) func(*testing.T) limiter {
	return func(t *testing.T) limiter {
		t.Helper()
		cmd := exec.Command(path, args...)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start(),
			"go run -C compat/run . --tests --only migration installs the libraries first")
		return &program{cmd, in, bufio.NewReader(out)}
	}
}

func (p *program) close() {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	_ = p.cmd.Wait()         // killed
}

func (p *program) ask(line string) (reply []string, err error) {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		return nil, err
	}
	text, err := p.out.ReadString('\n')
	return strings.Fields(text), err
}

func (p *program) connect(port int) error {
	reply, err := p.ask(fmt.Sprint("connect ", port))
	if err == nil && strings.Join(reply, " ") != "connected" {
		err = fmt.Errorf("connect: %q", reply)
	}
	return err
}

func (p *program) hit(key string, limit, seconds int64) (allowed bool, remaining int64, err error) {
	reply, err := p.ask(fmt.Sprintf("hit %s %d %d", key, limit, seconds))
	if err != nil || len(reply) == 0 {
		return false, 0, errors.Join(errors.New("the program has ended"), err)
	}
	remaining = unreported
	switch reply[0] {
	case "allowed", "denied":
	default:
		return false, 0, errors.New(strings.Join(reply, " "))
	}
	for _, field := range reply[1:] {
		if value, ok := strings.CutPrefix(field, "remaining="); ok {
			if remaining, err = strconv.ParseInt(value, 10, 64); err != nil {
				return false, 0, err
			}
		}
	}
	return reply[0] == "allowed", remaining, nil
}

// A documented limiter is one of a document.
type documented struct {
	decide document
	client *redis.Client
	units  int
}

func inDocument(d document) func(*testing.T) limiter {
	return func(*testing.T) limiter { return &documented{decide: d} }
}

func (d *documented) close() {
	if d.client != nil {
		_ = d.client.Close()
	}
}

func (d *documented) connect(port int) error {
	d.close()
	// A call that is given up and made again would count twice.
	d.client = redis.NewClient(&redis.Options{
		Addr: addr(port), MaxRetries: -1,
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
	})
	return nil
}

func (d *documented) hit(key string, limit, seconds int64) (allowed bool, remaining int64, err error) {
	d.units++
	allowed, err = d.decide(context.Background(), d.client, request{
		key: key, member: strconv.Itoa(d.units), nowMs: time.Now().UnixMilli(), windowMs: 1000 * seconds,
		limit: limit,
	})
	return allowed, unreported, err
}
