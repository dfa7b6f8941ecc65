package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// An invocation is one command line of a client's program.
type invocation struct {
	port int // of the server
	flow string
	args []string
	lost func() error // reports whether the server has exited
}

// invocation returns the command line that runs a flow against this server. more is appended to it.
func (h *held) invocation(c client, flow string, more ...string) invocation {
	return invocationOn(h.port, h.lost, c, flow, more...)
}

func invocationOn(port int, lost func() error, c client, flow string, more ...string) invocation {
	args := []string{
		"--host", "127.0.0.1", "--port", strconv.Itoa(port), "--flow", flow, "--key", "compat:" + c.name,
	}
	return invocation{port, flow, slices.Concat(args, c.args, more), lost}
}

// runClient runs each invocation of a program to its end: each in a process of its own, servers side by side,
// or all in one process if the program can do that, since most of its time is that of starting. Those on one
// server run one after the other: they share keys.
func runClient(ctx context.Context, root string, c client, calls []invocation) []outcome {
	outs := make([]outcome, len(calls))
	words, err := c.command(root)
	if err != nil {
		for i := range outs {
			outs[i].err = err
		}
		return outs
	}
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	if c.batch {
		return runBatch(ctx, words, calls)
	}
	byServer := map[int][]int{}
	for i, call := range calls {
		byServer[call.port] = append(byServer[call.port], i)
	}
	var wait sync.WaitGroup
	for _, members := range byServer {
		wait.Go(func() {
			for _, i := range members {
				cmd := exec.CommandContext(ctx, words[0], slices.Concat(words[1:], calls[i].args)...)
				stdout, err := stdoutOf(cmd)
				outs[i] = calls[i].outcome(stdout, err)
			}
		})
	}
	wait.Wait()
	return outs
}

// runBatch has one process run all invocations.
func runBatch(ctx context.Context, words []string, calls []invocation) []outcome {
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], "--batch")...)
	var lines strings.Builder
	for _, call := range calls {
		lines.WriteString(strings.Join(call.args, "\t") + "\n")
	}
	cmd.Stdin = strings.NewReader(lines.String())
	stdout, failed := stdoutOf(cmd)
	parts, errs := splitBatch(stdout, len(calls))
	outs := make([]outcome, len(calls))
	for i, call := range calls {
		if errs[i] != nil { // stderr tells why
			errs[i] = errors.Join(errs[i], failed)
		}
		outs[i] = call.outcome(parts[i], errs[i])
	}
	if failed != nil && errors.Join(errs...) == nil {
		outs[len(outs)-1].err = errors.Join(outs[len(outs)-1].err, failed)
	}
	return outs
}

// errBrokenOff is the error of an invocation whose program ended before it did.
var errBrokenOff = errors.New("the program ended before this invocation did")

// splitBatch splits what a process printed of n invocations, each with its exit code at the end.
func splitBatch(stdout string, n int) (parts []string, errs []error) {
	parts, errs = make([]string, n), make([]error, n)
	i := 0
	for line := range strings.Lines(stdout) {
		code, ends := strings.CutPrefix(strings.TrimSpace(line), "exit ")
		switch at := min(i, n-1); {
		case i >= n:
			errs[at] = errors.Join(errs[at], fmt.Errorf("output after the last of %d runs: %q", n, line))
		case !ends:
			parts[at] += line
		default:
			if code != "0" {
				errs[at] = fmt.Errorf("exit status %s", code)
			}
			i++
		}
	}
	for ; i < n; i++ {
		errs[i] = errors.Join(errs[i], errBrokenOff)
	}
	return parts, errs
}

// stdoutOf returns what a program printed. The error has the end of what it said of failures.
func stdoutOf(cmd *exec.Cmd) (stdout string, err error) {
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%w\n%s", err, tail(stderr.Bytes(), 30))
	}
	return out.String(), err
}

// outcome reads what the program printed of an invocation, and err of how it ended.
func (v invocation) outcome(stdout string, err error) outcome {
	single := v.flow
	if v.flow == "all" {
		single = ""
	}
	t, readErr := readTranscript(strings.NewReader(stdout), single)
	if err != nil {
		err = fmt.Errorf("--flow %s: %w", v.flow, err)
	}
	return outcome{t, errors.Join(err, v.lost(), readErr)}
}
