package main

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

const doctorFlow = "- RL.DOCTOR"

// diagnosed returns c with what RL.DOCTOR must say of it, each as `<problem> by <command>`. Of the other
// libraries it must say nothing.
func (c client) diagnosed(findings ...string) client {
	c.findings = findings
	return c
}

// diagnose asks our server's RL.DOCTOR what it has found in a library's run. It returns a row if that is not
// what it must be.
func (r *rig) diagnose(ours *held, c client, label string) []row {
	if r.gateway || isRedis(r.oursPath) || r.prepared[c.preparation] != nil {
		return nil
	}
	found, err := findings(ours.port)
	return diagnosis(c, label, found, err)
}

func diagnosis(c client, label string, found []string, err error) []row {
	switch {
	case err != nil:
		return []row{{flow: doctorFlow, client: label, verdict: notRun, detail: []string{err.Error()}}}
	case slices.Equal(found, c.findings):
		return nil
	}
	text := func(findings []string) string { return orNothing(strings.Join(findings, ", ")) }
	return []row{{
		flow: doctorFlow, client: label, verdict: different,
		detail: []string{"found     " + text(found), "should be " + text(c.findings)},
	}}
}

// findings returns what RL.DOCTOR has found, sorted, without patterns and clients, and has it forget that.
func findings(port int) ([]string, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), serverTimeout)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(serverTimeout)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, "RL.DOCTOR\r\nRL.DOCTOR RESET\r\nQUIT\r\n"); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return nil, err
	}
	return readFindings(string(text))
}

// readFindings reads the replies to RL.DOCTOR, RL.DOCTOR RESET and QUIT. A finding is a flat array of eight
// names with their values, and none contains a line's end.
func readFindings(replies string) ([]string, error) {
	reply, whole := strings.CutSuffix(replies, "\r\n+OK\r\n+OK\r\n")
	if !whole || !strings.HasPrefix(reply, "*") {
		return nil, fmt.Errorf("unexpected replies %q", replies)
	}
	var words []string
	lines := strings.Split(reply, "\r\n")
	for i := 0; i < len(lines); i++ {
		switch {
		case strings.HasPrefix(lines[i], ":"):
			words = append(words, lines[i])
		case strings.HasPrefix(lines[i], "$") && i+1 < len(lines):
			i++
			words = append(words, lines[i])
		}
	}
	var found []string
	for f := range slices.Chunk(words, 16) {
		if len(f) != 16 || f[0] != "problem" || f[6] != "command" {
			return nil, fmt.Errorf("unexpected finding %q", f)
		}
		found = append(found, f[1]+" by "+f[7])
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
