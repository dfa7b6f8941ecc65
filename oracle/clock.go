package oracle

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// minNowMs catches callers that pass seconds, which would set the clock to 1970.
const minNowMs = 100_000_000_000

// setClockTries bounds how often SetClock asks for the time. One is enough unless
// libfaketime fails to read its file.
const setClockTries = 100

// ErrClock is wrapped by the errors of a server whose clock cannot be set.
var ErrClock = errors.New("oracle: the clock cannot be set")

// SetClock moves the server's wall clock to nowMs, forwards or backwards, and stops it
// there. It returns once TIME answers that instant.
//
// Redis behind a password does not answer TIME. Then its refusal suffices, because
// Redis writes it after the clock has moved.
//
// The error is ErrClock if the server does not take its time from libfaketime.
func (r *Redis) SetClock(nowMs int64) error {
	if nowMs < minNowMs {
		return fmt.Errorf("oracle: clock %d is below %d", nowMs, int64(minNowMs))
	}
	if err := r.clock.write(nowMs); err != nil {
		return err
	}
	want := fmt.Sprintf("[%d %d]", nowMs/1000, nowMs%1000*1000)
	var got string
	for range setClockTries {
		reply, err := r.ask("TIME")
		if isNoAuth(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if got = fmt.Sprint(reply); got == want {
			return nil
		}
	}
	return fmt.Errorf("%w: it was set to %s, but TIME answers %s", ErrClock, want, got)
}

// Reclaim removes every expired key in all databases, as background removal would.
// Afterwards DBSIZE counts only living keys.
func (r *Redis) Reclaim() error {
	c, err := r.dial()
	if err != nil {
		return err
	}
	// SCAN removes the expired keys that it visits. With a COUNT above the number of
	// keys one call visits them all.
	const all = 1 << 30
	for db := range 16 {
		if _, err := c.ask(fmt.Sprintf("SELECT %d", db)); err != nil {
			return errors.Join(err, c.quit())
		}
		if _, err := c.ask(fmt.Sprintf("SCAN 0 COUNT %d", all)); err != nil {
			return errors.Join(err, c.quit())
		}
	}
	return c.quit()
}

// clockFile is the file that libfaketime reads the time from.
type clockFile struct{ path string }

// write replaces the file in one step: libfaketime must never read half a date.
func (f clockFile) write(nowMs int64) error {
	next := f.path + ".next"
	if err := os.WriteFile(next, []byte(faketimeInstant(nowMs)), 0o600); err != nil {
		return err
	}
	return os.Rename(next, f.path)
}

// faketimeInstant formats nowMs as an absolute time of libfaketime, which stops the
// clock. libfaketime parses the fraction as a double and truncates it, so .123 may
// become 122999 us. An extra tenth of a microsecond keeps every millisecond exact.
func faketimeInstant(nowMs int64) string {
	return time.UnixMilli(nowMs).UTC().Format("2006-01-02 15:04:05.000") + "0001\n"
}

// env returns the environment variables that make a process use the file. TZ is set
// because libfaketime takes the date as local time.
func (f clockFile) env(library string) []string {
	return []string{
		"LD_PRELOAD=" + library + " libc.so.6",
		"FAKETIME_TIMESTAMP_FILE=" + f.path,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
		"TZ=UTC",
		"LC_ALL=C",
	}
}
