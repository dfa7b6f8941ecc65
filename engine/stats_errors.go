package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// errorStats counts error replies by their code, the word before the first
// space, as INFO errorstats shows them. Scripts choose the code of what they
// answer, so names are bounded in number and length; what is above either bound
// is counted under one name.
type errorStats struct {
	byCode atomic.Pointer[map[string]*atomic.Int64] // replaced as a whole: readers take no lock
	mu     sync.Mutex                               // held by whoever replaces it
}

const (
	maxErrorCodes = 128
	maxErrorCode  = 64 // bytes
	otherErrors   = "ERRORSTATS_OVERFLOW"
)

// errorCode is the code of an error reply: ERR where it is one word only, as in
// Redis.
func errorCode(text string) string {
	code, _, more := strings.Cut(text, " ")
	if !more {
		return "ERR"
	}
	return code
}

func (s *errorStats) count(text string) {
	code := errorCode(text)
	if len(code) > maxErrorCode {
		code = otherErrors
	}
	if n := s.find(code); n != nil {
		n.Add(1)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.find(code)
	if n == nil {
		n = s.add(code)
	}
	n.Add(1)
}

func (s *errorStats) find(code string) *atomic.Int64 {
	if m := s.byCode.Load(); m != nil {
		return (*m)[code]
	}
	return nil
}

// add makes room for a code, or returns the place of those that have none. It
// requires mu.
func (s *errorStats) add(code string) *atomic.Int64 {
	all := make(map[string]*atomic.Int64)
	if m := s.byCode.Load(); m != nil {
		maps.Copy(all, *m)
	}
	if len(all) >= maxErrorCodes-1 {
		code = otherErrors
	}
	n := all[code]
	if n == nil {
		n = new(atomic.Int64)
		all[strings.Clone(code)] = n // the reply's text may be scratch space
		s.byCode.Store(&all)
	}
	return n
}

func (s *errorStats) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byCode.Store(nil)
}

// all calls fn with every code, in order.
func (s *errorStats) all(fn func(code string, n int64)) {
	m := s.byCode.Load()
	if m == nil {
		return
	}
	for _, code := range slices.Sorted(maps.Keys(*m)) {
		fn(code, (*m)[code].Load())
	}
}

// unsafeInInfo are the bytes that would break INFO's lines; Redis too has an
// underscore in their place.
var unsafeInInfo = strings.NewReplacer("#", "_", ":", "_", "\n", "_", "\r", "_")

func infoErrorStats(e *Engine, w *infoWriter) {
	e.stats.byCode.all(func(code string, n int64) {
		w.put("errorstat_"+unsafeInInfo.Replace(code), "count="+itoa(n))
	})
}
