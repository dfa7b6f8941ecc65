package stats

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Errors counts error replies, in all and by their code, the word before the first
// space, as INFO errorstats shows them. Scripts choose the code of their replies, so
// codes are bounded in number and length; those beyond are counted under one name.
type Errors struct {
	total  atomic.Int64
	byCode atomic.Pointer[map[string]*atomic.Int64] // replaced as a whole: readers lock nothing
	mu     sync.Mutex                               // held while byCode is replaced
}

const (
	maxErrorCodes = 128
	maxErrorCode  = 64 // bytes
	otherErrors   = "ERRORSTATS_OVERFLOW"
)

// errorCode returns the code of an error reply. A reply of one word has the code
// ERR, as in Redis.
func errorCode(text string) string {
	code, _, more := strings.Cut(text, " ")
	if !more {
		return "ERR"
	}
	return code
}

// Total returns how many error replies there were.
func (e *Errors) Total() int64 { return e.total.Load() }

// Count counts an error reply.
func (e *Errors) Count(text string) {
	e.total.Add(1)
	code := errorCode(text)
	if len(code) > maxErrorCode {
		code = otherErrors
	}
	if n := e.find(code); n != nil {
		n.Add(1)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.find(code)
	if n == nil {
		n = e.insert(code)
	}
	n.Add(1)
}

func (e *Errors) find(code string) *atomic.Int64 {
	if m := e.byCode.Load(); m != nil {
		return (*m)[code]
	}
	return nil
}

// insert returns a new counter for a code, or that of otherErrors if there are too
// many. It requires mu.
func (e *Errors) insert(code string) *atomic.Int64 {
	all := make(map[string]*atomic.Int64)
	if m := e.byCode.Load(); m != nil {
		maps.Copy(all, *m)
	}
	if len(all) >= maxErrorCodes-1 {
		code = otherErrors
	}
	n := all[code]
	if n == nil {
		n = new(atomic.Int64)
		all[strings.Clone(code)] = n // the reply's text may be scratch space
		e.byCode.Store(&all)
	}
	return n
}

func (e *Errors) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total.Store(0)
	e.byCode.Store(nil)
}

// Each calls fn with every code and its count, sorted by code.
func (e *Errors) Each(fn func(code string, n int64)) {
	m := e.byCode.Load()
	if m == nil {
		return
	}
	for _, code := range slices.Sorted(maps.Keys(*m)) {
		fn(code, (*m)[code].Load())
	}
}
