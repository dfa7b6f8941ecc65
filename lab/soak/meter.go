package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/zlimit/zlimit/lab/abuse"
)

// usage is what a server has at an instant.
type usage struct {
	descriptors, goroutines int64
	used                    int64 // used_memory
	resident                int64
}

func (u usage) String() string {
	return fmt.Sprintf("%d descriptors, %d goroutines, used_memory %d, resident %d MB",
		u.descriptors, u.goroutines, u.used, u.resident>>20)
}

// residentSlack is how much resident memory may differ beside a tenth: what the
// collector has not returned to the system at this moment.
const residentSlack = 8 << 20

// usedSlack is the same of used_memory: tables and buffers that grow once.
const usedSlack = 256 << 10

// goroutineSlack is how many come and go: timers that fire, connections that end, what
// the runtime starts for itself. A leak has one for each of thousands of connections.
const goroutineSlack = 4

// within reports whether u is at most a tenth more than before, but for what comes and
// goes.
func (u usage) within(before usage) bool {
	tenth := func(now, then, slack int64) bool { return now <= then+then/10+slack }
	return tenth(u.descriptors, before.descriptors, 0) &&
		tenth(u.goroutines, before.goroutines, goroutineSlack) &&
		tenth(u.used, before.used, usedSlack) && tenth(u.resident, before.resident, residentSlack)
}

// A meter reads a server's usage.
type meter struct {
	process *abuse.Process
	metrics string // address of /metrics
}

// settleTime is how long what the load has left takes to expire and be returned.
const settleTime = 20 * time.Second

// settled waits until what the load has left is gone, and the usage no more than that
// of before, if there is one; at most settleTime. It returns the last usage.
func (m *meter) settled(ctx context.Context, before usage) (u usage, err error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.Now().Add(settleTime); ; {
		select {
		case <-ctx.Done():
			return u, ctx.Err()
		case <-tick.C:
		}
		if u, err = m.read(); err != nil {
			return u, err
		}
		if before != (usage{}) && u.within(before) || time.Now().After(end) {
			return u, nil
		}
	}
}

func (m *meter) read() (u usage, err error) {
	c, err := abuse.Dial(m.process.Addr, "")
	if err != nil {
		return u, err
	}
	defer c.Close()
	// The scripts' cache and what RL.TOP counts are bounded; what they hold is no leak.
	for _, forget := range []string{"SCRIPT FLUSH", "CONFIG RESETSTAT"} {
		if _, err := c.Do(strings.Fields(forget)...); err != nil {
			return u, err
		}
	}
	if u.used, err = c.Info("used_memory"); err != nil {
		return u, err
	}
	open, err := m.process.Descriptors()
	if err != nil {
		return u, err
	}
	u.descriptors = int64(open)
	if u.resident, err = m.process.ResidentBytes(); err != nil {
		return u, err
	}
	u.goroutines, err = m.goroutines()
	return u, err
}

// goroutines reads the number of goroutines from /metrics.
func (m *meter) goroutines() (int64, error) {
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + m.metrics + "/metrics")
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, fmt.Errorf("/metrics has no go_goroutines")
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
