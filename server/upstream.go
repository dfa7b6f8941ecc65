package server

import (
	"errors"
	"strconv"
	"time"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/upstream"
	"github.com/zlimit/zlimit/upstream/directives"
)

// upstreamOptions returns the options that the directives give an upstream. ok is false if there is none.
func upstreamOptions(c *config.Config) (o upstream.Options, ok bool, err error) {
	url := c.String("upstream")
	if url == "" {
		return o, false, nil
	}
	if o.Address, o.TLS, err = directives.Address(c, url); err != nil {
		return o, false, err
	}
	o.Timeout = time.Duration(c.Int("upstream-timeout")) * time.Millisecond
	o.Queue = int(c.Int("upstream-queue"))
	o.MaxUnits = c.Int("upstream-max-units")
	o.Split = c.Bool("upstream-split")
	o.Announce = c.Strings("upstream-announce")
	var errs [2]error
	o.Failure, errs[0] = upstream.ParseFailures(c.Strings("upstream-failure"))
	o.WaitReplicas, o.WaitTimeout, errs[1] = parseWait(c.Strings("upstream-wait"))
	return o, true, errors.Join(errs[:]...)
}

var errUpstreamWait = errors.New("upstream-wait must be a number of replicas and milliseconds: 1 100")

// parseWait parses the words of upstream-wait.
func parseWait(words []string) (replicas int, timeout time.Duration, err error) {
	if len(words) == 0 {
		return 0, 0, nil
	}
	if len(words) != 2 {
		return 0, 0, errUpstreamWait
	}
	n, err := strconv.Atoi(words[0])
	ms, msErr := strconv.Atoi(words[1])
	if err != nil || msErr != nil || n < 1 || ms < 1 {
		return 0, 0, errUpstreamWait
	}
	return n, time.Duration(ms) * time.Millisecond, nil
}

// openUpstream returns the upstream of the directives, or nil.
func (s *Server) openUpstream() engine.Upstream {
	o, ok, err := upstreamOptions(s.cfg.Config)
	if err != nil {
		panic("server: " + err.Error())
	}
	if !ok {
		return nil
	}
	o.Log = s.log
	o.Deliver = func(m upstream.Message) { s.engine.Deliver(m.Kind, m.Topic, m.Channel, m.Payload) }
	s.own.upstream = upstream.Open(o)
	return s.own.upstream
}
