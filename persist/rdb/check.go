package rdb

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/zlimit/zlimit/store"
)

// Check decodes a whole file and reports to w as redis-check-rdb does. nowMs is the
// instant at which expiry is judged. Unsupported values are reported but are not
// errors. Check returns nil if the file is sound, and otherwise the error that Read
// would return.
func Check(w io.Writer, name string, f io.ReaderAt, size, nowMs int64) error {
	expired := 0
	limits := Limits{math.MaxInt32, math.MaxInt32, math.MaxInt32, math.MaxInt32, math.MaxInt32}
	var foreign []string
	r := newDecodingFile(f, size, ReadOptions{Limits: limits, Skip: true}, Handler{
		Key: func(_ int, _ []byte, expireAtMs int64, _ store.Value) error {
			if expireAtMs != 0 && expireAtMs < nowMs {
				expired++
			}
			return nil
		},
		Skipped: func(db int, key []byte, what string) {
			if len(foreign) < maxForeign {
				foreign = append(foreign,
					fmt.Sprintf("key %s of database %d holds %s", quoted(string(key)), db, what))
			}
		},
	})
	r.note = func(format string, args ...any) {
		fmt.Fprintf(w, "[offset %d] %s\n", r.validator.src.offset(), fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(w, "[offset 0] Checking RDB file %s\n", name)
	sum, err := r.read()
	switch {
	case err != nil:
		fmt.Fprintf(w, "--- RDB ERROR DETECTED ---\n")
		explain(w, err)
	case sum.Checksum:
		fmt.Fprintf(w, "[offset %d] Checksum OK\n", sum.End)
		fallthrough
	default:
		fmt.Fprintf(w, "[offset %d] \\o/ RDB looks OK! \\o/\n", sum.End)
	}
	fmt.Fprintf(w, "[info] %d keys read\n[info] %d expires\n[info] %d already expired\n", sum.Keys,
		sum.Expiring, expired)
	if sum.Skipped > 0 {
		fmt.Fprintf(w, "[info] %d keys cannot be loaded here\n", sum.Skipped)
		for _, line := range foreign {
			fmt.Fprintf(w, "[info] %s\n", line)
		}
	}
	return err
}

// maxForeign is how many unsupported keys are named.
const maxForeign = 10

// explain reports where a file is wrong and what was being read.
func explain(w io.Writer, err error) {
	var e *Error
	if !errors.As(err, &e) {
		fmt.Fprintf(w, "%v\n", err)
		return
	}
	fmt.Fprintf(w, "[offset %d] %v\n[additional info] While doing: %s\n", e.Offset, e.Err, e.Doing)
	if e.HasKey {
		fmt.Fprintf(w, "[additional info] Reading key %s\n", quoted(e.Key))
	}
	if e.HasKey || e.Doing == doingKey {
		fmt.Fprintf(w, "[additional info] Reading type %d (%s)\n", e.Type, kindOf(e.Type))
	}
}
