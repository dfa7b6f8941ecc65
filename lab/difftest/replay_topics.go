package main

import (
	"fmt"
	"strings"
	"time"
)

// topics are what a connection has subscribed to.
type topics map[string]bool

// topicFields are the numbers of topics in CLIENT LIST: of SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE.
var topicFields = [3]string{"sub", "psub", "ssub"}

// subscribe notes a command that subscribes or unsubscribes.
func (c *replayed) subscribe(name string, names []string) {
	c.messages = true
	kind := 0
	switch {
	case strings.HasPrefix(name, "P"):
		kind = 1
	case strings.HasPrefix(name, "SS"), strings.HasPrefix(name, "SUNS"):
		kind = 2
	}
	switch ends := strings.HasSuffix(name, "UNSUBSCRIBE"); {
	case ends && len(names) == 0:
		c.topics[kind] = nil
	case ends:
		for _, n := range names {
			delete(c.topics[kind], n)
		}
	default:
		if c.topics[kind] == nil {
			c.topics[kind] = topics{}
		}
		for _, n := range names {
			c.topics[kind][n] = true
		}
	}
}

// subscribed returns when both servers know what the connection has subscribed to, so that what is published
// next reaches it there.
func (r *replay) subscribed(c *replayed) error {
	for side, l := range c.sides {
		for begin := time.Now(); time.Since(begin) < silence; l.ready(interval) {
			got, err := r.ask(side, r.runner.links[side][0], "CLIENT", "LIST", "ID", c.ids[side])
			if err != nil {
				return err
			}
			if c.knows(got.text) {
				break
			}
		}
	}
	return nil
}

// knows reports whether a line of CLIENT LIST has as many topics as the connection.
func (c *replayed) knows(line string) bool {
	for kind, field := range topicFields {
		if want := fmt.Sprintf(" %s=%d ", field, len(c.topics[kind])); !strings.Contains(line, want) {
			return strings.TrimSpace(line) == "" // it is gone
		}
	}
	return true
}
