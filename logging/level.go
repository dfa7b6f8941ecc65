// Package logging writes the server's log: Redis' levels over those of log/slog, lines
// in Redis' format for people and in JSON for programs, and a file that may be full or
// moved away.
//
// This package is internal to zlimit: it may change in any release.
package logging

import (
	"context"
	"log/slog"
	"math"
)

// The levels of loglevel. Programs that pass a slog.Handler of theirs see Notice and
// Warning as slog's Info and Warn.
const (
	Debug   = slog.LevelDebug
	Verbose = slog.Level(-2)
	Notice  = slog.LevelInfo
	Warning = slog.LevelWarn
	Nothing = slog.Level(math.MaxInt32) // above all others
)

// A levelName is a level as loglevel and Redis' log have it.
type levelName struct {
	level slog.Level
	name  string
	mark  byte // before the message
}

// levels are Redis' levels, from the lowest on.
var levels = []levelName{
	{Debug, "debug", '.'},
	{Verbose, "verbose", '-'},
	{Notice, "notice", '*'},
	{Warning, "warning", '#'},
	{Nothing, "nothing", '#'},
}

// Level returns the level with a name of loglevel, or Notice if there is none.
func Level(name string) slog.Level {
	for _, l := range levels {
		if l.name == name {
			return l.level
		}
	}
	return Notice
}

// named returns the highest of Redis' levels up to l, or the lowest.
func named(l slog.Level) levelName {
	out := levels[0]
	for _, one := range levels[:len(levels)-1] {
		if one.level <= l {
			out = one
		}
	}
	return out
}

// AtLeast returns l, limited to records of a level that may change. A nil l drops all
// records.
func AtLeast(l *slog.Logger, level slog.Leveler) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(&limited{l.Handler(), level})
}

// limited is the handler of AtLeast.
type limited struct {
	next  slog.Handler
	level slog.Leveler
}

// Enabled implements slog.Handler.
func (h *limited) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level.Level() && h.next.Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (h *limited) Handle(ctx context.Context, r slog.Record) error { return h.next.Handle(ctx, r) }

// WithAttrs implements slog.Handler.
func (h *limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limited{h.next.WithAttrs(attrs), h.level}
}

// WithGroup implements slog.Handler.
func (h *limited) WithGroup(name string) slog.Handler {
	return &limited{h.next.WithGroup(name), h.level}
}
