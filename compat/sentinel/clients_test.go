package sentinel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A program is a client of another language. Its limiters ask for no confirmation, and find the master
// as the client's documentation says.
type program struct {
	name    string
	command []string
	needs   string // a file that preparations make
}

const (
	venv = "../python/.venv/bin/python"
	jar  = "clients/java/target/sentinel.jar"
)

// compat/run prepares the programs.
var programs = []program{
	{"python", []string{venv, "clients/client.py"}, venv},
	{"node", []string{"node", "clients/client.js"}, "../node/node_modules/ioredis/package.json"},
	{"java", []string{
		"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions",
		"-XX:-BytecodeVerificationRemote", "-jar", jar,
	}, jar},
}

// A line is what a program prints about a call.
type line struct {
	Limiter                    algorithm
	Unit                       string
	SentUs, ReceivedUs, SentMs int64
	Port, PortAfter            int64
	Window, Ledger             any // the replies: a number, or those of RL.ALLOW
	Error                      string
}

// call returns the call that a line is about.
func (r line) call() (call, error) {
	const us = time.Microsecond
	c := call{
		unit: r.Unit, sent: time.Duration(r.SentUs) * us, received: time.Duration(r.ReceivedUs) * us,
		sentMs: r.SentMs, port: r.Port,
	}
	switch {
	case r.Error != "":
		return c, errors.New(r.Error)
	case r.Port == 0 || r.Port != r.PortAfter:
		return c, fmt.Errorf("answered by port %d and then by %d", r.Port, r.PortAfter)
	}
	number := func(reply any, i int) (int64, error) {
		if list, ok := reply.([]any); ok && len(list) > i {
			reply = list[i]
		}
		n, ok := reply.(float64)
		if !ok {
			return 0, fmt.Errorf("not the reply of a limiter: %v", reply)
		}
		return int64(n), nil
	}
	window, err := number(r.Window, 0)
	if err != nil {
		return c, err
	}
	granted, err := number(r.Ledger, 0)
	if err != nil || granted != 1 {
		return c, errors.Join(err, fmt.Errorf("the ledger denies: %v", r.Ledger))
	}
	c.admitted = window == 1
	if r.Limiter == rlAllow {
		left, err := number(r.Ledger, 2)
		if err != nil {
			return c, err
		}
		c.ledgerUsed = ledgerLimit - left
	}
	return c, nil
}

// requirePrograms skips a test if no preparation has made the programs: they need what npm, pip and Maven
// fetch, and the other tests of this package need Go only. CI prepares them, and fails if that fails.
func requirePrograms(t *testing.T) {
	t.Helper()
	for _, p := range programs {
		if _, err := os.Stat(p.needs); errors.Is(err, fs.ErrNotExist) {
			t.Skipf("the client in %s is not prepared: compat/run --tests --only sentinel does that", p.name)
		}
	}
}

// startPrograms starts every program with a limiter of each algorithm. of has the limiters of each.
func (s *set) startPrograms(t *testing.T, algorithms []algorithm) (d *load, of map[string][]*limiter) {
	t.Helper()
	of = map[string][]*limiter{}
	var ends []func()
	d = &load{begin: time.Now(), cancel: sync.OnceFunc(func() {
		for _, end := range ends {
			end()
		}
	})}
	t.Cleanup(d.stop)
	var sentinels, words []string
	for _, one := range s.sentinels {
		sentinels = append(sentinels, addr(one.port))
	}
	for _, a := range algorithms {
		words = append(words, string(a))
	}
	for _, p := range programs {
		by := map[algorithm]*limiter{}
		for _, a := range algorithms {
			by[a] = &limiter{name: p.name + ":" + string(a), algorithm: a}
			of[p.name] = append(of[p.name], by[a])
		}
		d.limiters = append(d.limiters, of[p.name]...)
		args := append(p.command[1:len(p.command):len(p.command)], strings.Join(sentinels, ","), masterName,
			fmt.Sprint(between.Milliseconds()), strings.Join(words, ","))
		cmd := exec.Command(p.command[0], args...)
		cmd.Env = append(os.Environ(), "NODE_PATH=../node/node_modules")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		ends = append(ends, func() { in.Close() })
		d.running.Go(func() {
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				var one line
				if err := json.Unmarshal(lines.Bytes(), &one); err != nil || by[one.Limiter] == nil {
					t.Errorf("%s prints %q: %v", p.name, lines.Bytes(), err)
					break
				}
				l := by[one.Limiter]
				if c, err := one.call(); err != nil {
					l.errors = append(l.errors, err.Error())
				} else {
					l.note(c)
				}
			}
			if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
				t.Errorf("%s: %v\n%s", p.name, err, stderr.Bytes())
			}
		})
	}
	return d, of
}

// failoverOfPrograms makes the sentinels promote another server, and returns what each program has noticed.
func (s *set) failoverOfPrograms(t *testing.T, f fault, algorithms []algorithm) map[string]outcome {
	t.Helper()
	d, of := s.startPrograms(t, algorithms)
	old := s.master
	s.replaceMaster(t, f, d, nothing)
	out := map[string]outcome{}
	for name, limiters := range of {
		out[name] = s.account(t, limiters, old)
		for _, l := range limiters {
			t.Logf("%s: errors %q", l.name, l.errors)
		}
	}
	return out
}

// TestPrograms: clients of other languages go on with the new master, and no window of one master has more
// units than the limit.
func TestPrograms(t *testing.T) {
	t.Parallel()
	requirePrograms(t)
	for _, f := range []fault{killed, stopped, asked, careful} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := startSet(t, f.layout(zlimit))
			for name, out := range s.failoverOfPrograms(t, f, both) {
				if f == careful {
					require.Equal(t, []int{0, 0}, out.lost, name)
				}
			}
		})
	}
}

// TestFailoversOfPrograms measures as TestFailovers does. Without -failovers it is skipped: it takes
// minutes, and TestPrograms checks the same once.
func TestFailoversOfPrograms(t *testing.T) {
	if *failovers == 0 {
		t.Skip("it measures for minutes what TestPrograms checks: run with -failovers N")
	}
	requirePrograms(t)
	var table strings.Builder
	table.WriteString("| failover, client " + header)
	for _, f := range []fault{killed, stopped, asked} {
		outcomes := map[[2]string][]outcome{}
		for n := range *failovers {
			for _, server := range []string{zlimit, redis7} {
				algorithms := both
				if server == redis7 {
					algorithms = onlyScript
				}
				t.Run(fmt.Sprintf("%s/%s/%d", f, server, n), func(t *testing.T) {
					s := startSet(t, f.layout(server))
					for name, out := range s.failoverOfPrograms(t, f, algorithms) {
						outcomes[[2]string{name, server}] = append(outcomes[[2]string{name, server}], out)
					}
				})
			}
		}
		for _, p := range programs {
			for _, server := range []string{zlimit, redis7} {
				table.WriteString(row(string(f)+", "+p.name, server, outcomes[[2]string{p.name, server}]))
			}
		}
	}
	fmt.Printf("\nMedians (maxima) over %d failovers of each kind\n\n%s\n", *failovers, table.String())
}

// TestLines: lines that are no answer by one server are errors.
func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		`{"limiter":"script","port":1,"portAfter":1,"window":0,"ledger":1}`:               "",
		`{"limiter":"RL.ALLOW","port":1,"portAfter":1,"window":[1],"ledger":[1,9,7,0,0]}`: "",
		`{"limiter":"script","port":1,"portAfter":2,"window":0,"ledger":1}`:               "port 1 and then",
		`{"limiter":"script","error":"it"}`:                                               "it",
		`{"limiter":"script","port":1,"portAfter":1,"window":null,"ledger":1}`:            "not the reply",
		`{"limiter":"script","port":1,"portAfter":1,"window":1,"ledger":0}`:               "denies",
		`{"limiter":"RL.ALLOW","port":1,"portAfter":1,"window":[1],"ledger":[1]}`:         "not the reply",
	} {
		var one line
		require.NoError(t, json.Unmarshal([]byte(text), &one), text)
		_, err := one.call()
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
}
