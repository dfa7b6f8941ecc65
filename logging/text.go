package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// timeFormat is that of Redis' log.
const timeFormat = "02 Jan 2006 15:04:05.000"

// Text returns a handler that writes each record as one line in Redis' format:
//
//	pid:M 23 Nov 2026 22:20:15.123 * message key=value
//
// Whatever could end the line or control a terminal is escaped.
func Text(w io.Writer, pid int) slog.Handler {
	var mu sync.Mutex // held while a line is written
	head := strconv.Itoa(pid) + ":M "
	return &lines{emit: func(r *slog.Record, line []byte) error {
		out := append([]byte(nil), head...)
		out = r.Time.AppendFormat(out, timeFormat)
		out = append(out, ' ', named(r.Level).mark, ' ')
		out = append(append(out, line...), '\n')
		mu.Lock()
		defer mu.Unlock()
		_, err := w.Write(out)
		return err
	}}
}

// JSON returns a handler that writes each record as a line with a JSON object, whose
// members are time, level (a name of loglevel), msg and the record's attributes.
func JSON(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.Level(-1 << 31),
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.LevelKey {
				if l, ok := a.Value.Any().(slog.Level); ok {
					return slog.String(a.Key, named(l).name)
				}
			}
			return a
		},
	})
}

// Func returns a logger that calls fn with each record's message and attributes, as a
// line of Text has them. Tests use it.
func Func(fn func(line string)) *slog.Logger {
	return slog.New(&lines{emit: func(_ *slog.Record, line []byte) error {
		fn(string(line))
		return nil
	}})
}

// lines is a handler that turns records into lines.
type lines struct {
	emit  func(r *slog.Record, line []byte) error
	attrs []byte // those of WithAttrs, formatted
	group string // the names of WithGroup, each with a dot behind it
}

// Enabled implements slog.Handler.
func (*lines) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h *lines) Handle(_ context.Context, r slog.Record) error {
	line := appendEscaped(nil, r.Message)
	line = append(line, h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		line = appendAttr(line, h.group, a)
		return true
	})
	return h.emit(&r, line)
}

// WithAttrs implements slog.Handler.
func (h *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	out.attrs = append([]byte(nil), h.attrs...)
	for _, a := range attrs {
		out.attrs = appendAttr(out.attrs, h.group, a)
	}
	return &out
}

// WithGroup implements slog.Handler.
func (h *lines) WithGroup(name string) slog.Handler {
	out := *h
	if name != "" {
		out.group += name + "."
	}
	return &out
}

// appendAttr appends " key=value". A value with spaces or quotes is quoted.
func appendAttr(line []byte, group string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return line
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, one := range v.Group() {
			line = appendAttr(line, group, one)
		}
		return line
	}
	line = append(line, ' ')
	line = append(appendEscaped(line, group+a.Key), '=')
	text := v.String()
	if v.Kind() == slog.KindTime {
		text = v.Time().Format(timeFormat)
	} else if err, ok := v.Any().(error); ok {
		text = err.Error()
	} else if s, ok := v.Any().(fmt.Stringer); ok {
		text = s.String()
	}
	if text == "" || strings.ContainsAny(text, " =\"") {
		return strconv.AppendQuote(line, text)
	}
	return appendEscaped(line, text)
}

// appendEscaped appends text, with escape sequences of Go in the place of what is not
// printable.
func appendEscaped(line []byte, text string) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if (r == utf8.RuneError && size == 1) || !strconv.IsPrint(r) {
			quoted := strconv.Quote(text[:size])
			line = append(line, quoted[1:len(quoted)-1]...)
		} else {
			line = append(line, text[:size]...)
		}
		text = text[size:]
	}
	return line
}
