package logging

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
)

// OpenFile returns a writer that appends to a file. As in Redis, each line opens a
// regular file anew, so that it may be moved away or deleted while the server runs. A
// pipe or a device stays open: the writer is its *os.File.
func OpenFile(path string) (io.Writer, error) {
	f, err := openAppend(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return f, err
	}
	return file(path), f.Close()
}

// file is a writer of OpenFile: the path.
type file string

// Write implements io.Writer.
func (f file) Write(p []byte) (int, error) {
	opened, err := openAppend(string(f))
	if err != nil {
		return 0, err
	}
	n, err := opened.Write(p)
	if closeErr := opened.Close(); err == nil {
		err = closeErr
	}
	return n, err
}

func openAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
}

// New returns a logger that writes lines to w by the handler that format makes. If a
// line cannot be written, because the disk is full for example, it is dropped. After
// the next one that can, a line says how many were.
func New(w io.Writer, format func(io.Writer) slog.Handler) *slog.Logger {
	o := &output{w: w}
	return slog.New(&counted{format(o), o})
}

// An output counts the lines that its writer did not take, and begins a new line after
// one of which it took a part.
type output struct {
	w io.Writer

	mu   sync.Mutex // protects the fields below, and held while a line is written
	torn bool       // the last line has no end
	lost int        // lines, since one was written
	err  error      // of the last of them
}

// Write implements io.Writer. p is one line.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line := p
	if o.torn {
		line = append([]byte{'\n'}, p...)
	}
	n, err := o.w.Write(line)
	if err == nil {
		o.torn = false
		return len(p), nil
	}
	if n > 0 {
		o.torn = line[n-1] != '\n'
	}
	o.lost++
	o.err = err
	return 0, err
}

// takeLost returns how many lines were lost and why, and forgets them.
func (o *output) takeLost() (lost int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lost, err = o.lost, o.err
	o.lost, o.err = 0, nil
	return lost, err
}

// counted is the handler of New.
type counted struct {
	slog.Handler
	out *output
}

// Handle implements slog.Handler.
func (h *counted) Handle(ctx context.Context, r slog.Record) error {
	if err := h.Handler.Handle(ctx, r); err != nil {
		return err
	}
	lost, cause := h.out.takeLost()
	if lost == 0 {
		return nil
	}
	note := slog.NewRecord(r.Time, Warning, "lines of the log could not be written", 0)
	note.AddAttrs(slog.Int("lines", lost), slog.String("error", cause.Error()))
	return h.Handler.Handle(ctx, note)
}

// WithAttrs implements slog.Handler.
func (h *counted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &counted{h.Handler.WithAttrs(attrs), h.out}
}

// WithGroup implements slog.Handler.
func (h *counted) WithGroup(name string) slog.Handler {
	return &counted{h.Handler.WithGroup(name), h.out}
}
