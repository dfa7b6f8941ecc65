package export

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlimit/zlimit/upstream"
)

// Options describes a move.
type Options struct {
	From, To upstream.Address
	// FromTLS and ToTLS are of connections to addresses with TLS; nil: Go's defaults.
	FromTLS, ToTLS *tls.Config
	// Replace allows a destination that has keys; those of the same names are replaced.
	Replace bool
	// Quiet says that nobody but the caller knows the source, so that nothing changes.
	Quiet bool
	// Log is told what goes on. It must not be nil.
	Log func(text string)
}

// A Report is what a move has done.
type Report struct {
	Keys    int           // that were copied, those that changed meanwhile more than once
	Again   int           // of Keys: because they had changed
	Last    int           // of Again: while writes were paused
	Took    time.Duration // altogether
	Waited  time.Duration // while writes were paused
	Unfence string        // the commands that let the source accept writes again
}

const (
	// pauseFor is when a pause ends by itself, should the one who began it be gone.
	pauseFor = 30 * time.Second
	// fewKeys is how many changed keys may be left when the pause begins.
	fewKeys = 500
	// maxPasses bounds the passes over changed keys before the pause begins all the same.
	maxPasses = 20
)

// Errors of a move. The source goes on as before.
var (
	errNotEmpty  = errors.New("the destination has keys; only an empty one, or with --replace any, is filled")
	errDatabases = errors.New("the source has keys in another database than 0, and only that one is moved")
	errEmptied   = errors.New("the source was emptied, or its databases were swapped, meanwhile; start again")
	errShape     = errors.New("slots of the source have moved meanwhile; start again")
)

// A move is one that goes on.
type move struct {
	Options
	report  Report
	to      redis.UniversalClient
	sources []*source
	passes  int
}

// Run moves all keys. When it returns without an error, the destination has them and, unless o.Quiet is
// set, the source refuses writes. After an error the source accepts writes as before.
func Run(ctx context.Context, o Options) (Report, error) {
	upstream.SilenceClient()
	begin := time.Now()
	m := &move{Options: o}
	defer m.close()
	err := m.run(ctx)
	m.report.Took = time.Since(begin)
	return m.report, err
}

func (m *move) run(ctx context.Context) (err error) {
	if m.to, err = connect(ctx, m.To, m.ToTLS); err != nil {
		return fmt.Errorf("the destination: %w", err)
	}
	if err := m.checkDestination(ctx); err != nil {
		return err
	}
	if m.sources, err = m.openSources(ctx); err != nil {
		return fmt.Errorf("the source: %w", err)
	}
	shape := m.shape(ctx)
	for _, s := range m.sources {
		if err := m.copyAll(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.addr, err)
		}
	}
	if err := m.copyFunctions(ctx); err != nil {
		return err
	}
	if !m.Quiet {
		if err := m.finish(ctx); err != nil {
			return err
		}
	}
	if m.shape(ctx) != shape {
		m.unfence()
		return errShape
	}
	return nil
}

// finish copies what has changed, and fences the source.
func (m *move) finish(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			m.unfence()
		}
	}()
	for m.passes = 0; m.passes < maxPasses; m.passes++ {
		n, err := m.copyChanged(ctx)
		if err != nil {
			return err
		}
		if n <= fewKeys {
			break
		}
	}
	begin := time.Now()
	if err := m.each(func(s *source) error { return s.pause(ctx) }); err != nil {
		return err
	}
	before := m.report.Again
	if err := m.drain(ctx); err != nil {
		return err
	}
	if err := m.each(func(s *source) error { return s.fence(ctx) }); err != nil {
		return err
	}
	if err := m.each(func(s *source) error { return s.unpause(ctx) }); err != nil {
		return err
	}
	// The source accepts no write any more. What it has accepted since the last look, if the pause has
	// ended too soon, is copied now.
	if err := m.drain(ctx); err != nil {
		return err
	}
	m.report.Waited = time.Since(begin)
	m.report.Last = m.report.Again - before
	for _, s := range m.sources {
		m.report.Unfence += s.undo()
	}
	return nil
}

// each calls f for each source, and stops at an error.
func (m *move) each(f func(*source) error) error {
	for _, s := range m.sources {
		if err := f(s); err != nil {
			return fmt.Errorf("%s: %w", s.addr, err)
		}
	}
	return nil
}

// drain copies what changes until nothing has changed for a while.
func (m *move) drain(ctx context.Context) error {
	const quietPasses, between = 3, 20 * time.Millisecond
	pass := time.NewTicker(between)
	defer pass.Stop()
	for quiet := 0; quiet < quietPasses; {
		n, err := m.copyChanged(ctx)
		if err != nil {
			return err
		}
		quiet++
		if n > 0 {
			quiet = 0
		}
		select {
		case <-pass.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// unfence makes the sources accept writes as before. It is called on an error, possibly of ctx.
func (m *move) unfence() {
	ctx, cancel := context.WithTimeout(context.Background(), replyTimeout)
	defer cancel()
	for _, s := range m.sources {
		if err := errors.Join(s.unfence(ctx), s.unpause(ctx)); err != nil {
			m.Log(fmt.Sprintf("%s may refuse writes: %v; undo it with %s", s.addr, err, s.undo()))
		}
	}
}

// shape returns which node has which slots, or "" of a single source.
func (m *move) shape(ctx context.Context) string {
	if len(m.sources) == 0 || !m.sources[0].cluster {
		return ""
	}
	ranges, err := upstream.ClusterSlots(ctx, m.sources[0].client, m.sources[0].addr)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, r := range ranges {
		lines = append(lines, fmt.Sprint(r.Start, r.End, r.Nodes[0].Addr))
	}
	return strings.Join(lines, "\n")
}

func (m *move) close() {
	if m.to != nil {
		_ = m.to.Close() // only read from here on
	}
	for _, s := range m.sources {
		s.close()
	}
}
