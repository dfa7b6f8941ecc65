package engine_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// BenchmarkDoctorOfScripts measures what rl-doctor adds to the documents' scripts, written right, called by
// EVALSHA on 64 keys: two engines in turns, one with it and one without, in processor time. It reports the
// medians of 64 calls, and the second by the first. Limiter.Do opens a session for each call.
func BenchmarkDoctorOfScripts(b *testing.B) {
	for _, c := range []struct {
		name, source, args string
		own                bool // a session for each call
	}{
		{"sorted set", scriptOf("right"), "now 60000 100 now", false},
		{"count", scriptOf("count"), "60000", false},
		{"sorted set, Limiter.Do", scriptOf("right"), "now 60000 100 now", true},
	} {
		b.Run(c.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var sides [2]doctorSide
			for i, on := range []string{"no", "yes"} {
				e, h := newEngine(b, "--rl-doctor", on)
				sides[i] = doctorSide{engine: e, session: newSession(b, e), hands: h}
				require.Equal(b, sha1Hex(c.source), doWords(sides[i].session, "SCRIPT", "LOAD", c.source))
			}
			for n := 0; b.Loop(); n++ {
				for i := range sides {
					sides[(n+i)%2].round(b, c.source, c.args, c.own)
				}
			}
			off, on := sides[0].median(), sides[1].median()
			b.ReportMetric(off, "off-ns/call")
			b.ReportMetric(on, "on-ns/call")
			b.ReportMetric(on/off, "ratio")
		})
	}
}

// A doctorSide is an engine, and how long its rounds took.
type doctorSide struct {
	engine  *engine.Engine
	session *engine.Session
	hands   *hands
	took    []time.Duration
	ran     int
}

const doctorCalls = 64

func (s *doctorSide) round(b *testing.B, source, words string, own bool) {
	now := ms(startNowMs + s.hands.us.Load()/1000)
	lines := make([][][]byte, doctorCalls)
	for i := range lines {
		line := fmt.Sprintf("EVALSHA %s 1 limit:%d ", sha1Hex(source), s.ran/4096*doctorCalls+i)
		lines[i] = args(line + strings.ReplaceAll(words, "now", now))
	}
	before := threadTime(b)
	for _, line := range lines {
		if !own {
			s.session.Do(line)
			continue
		}
		session := s.engine.NewSession(engine.Peer{Owner: true, Local: true})
		session.Do(line)
		session.Close()
	}
	s.took = append(s.took, threadTime(b)-before)
	s.ran += doctorCalls
	s.hands.pass(7)
}

func (s *doctorSide) median() float64 {
	slices.Sort(s.took)
	return float64(s.took[len(s.took)/2].Nanoseconds()) / doctorCalls
}

// threadTime returns the processor time of this thread.
func threadTime(b *testing.B) time.Duration {
	const clock = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0)
	require.Zero(b, errno)
	return time.Duration(t.Nano())
}
