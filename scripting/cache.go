package scripting

import (
	"container/list"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	lua "github.com/yuin/gopher-lua"
)

// A digest is a script's SHA-1 in lower-case hexadecimal.
type digest [2 * sha1.Size]byte

func digestOf(source []byte) (d digest) {
	sum := sha1.Sum(source)
	hex.Encode(d[:], sum[:])
	return d
}

// parseDigest reads a digest in either case.
func parseDigest(arg []byte) (d digest, ok bool) {
	if len(arg) != len(d) {
		return d, false
	}
	for i, ch := range arg {
		if 'A' <= ch && ch <= 'Z' {
			ch += 'a' - 'A'
		}
		d[i] = ch
	}
	return d, true
}

// A script is compiled once and then only read, by any number of states.
type script struct {
	sha    string
	source string
	proto  *lua.FunctionProto
	flags  flags

	size int64       // about, in bytes
	used atomic.Bool // since the cache last looked for one to drop
	kept bool        // by SCRIPT LOAD; protected by the cache's mu
}

// A cache holds the scripts that were loaded or evaluated. The maps hold the
// same scripts: EVAL finds its by the source and need not hash it.
//
// Clients that write their arguments into the source send another script each
// time. Of those that only EVAL brought, the cache keeps maxEvaluated, and
// drops one that was not used of late (the second-chance rule) for the next;
// what SCRIPT LOAD brought stays until SCRIPT FLUSH.
type cache struct {
	maxTokens func() int // what a source may have; see parse
	maxBytes  int64      // what scripts of EVAL's may take together

	mu        sync.RWMutex
	byDigest  map[digest]*script
	bySource  map[string]*script
	evaluated list.List // of *script that may be dropped, the next candidate first
	droppable int64     // bytes they take
	size      int64     // bytes all scripts take
	evicted   int64     // scripts dropped since start or CONFIG RESETSTAT
}

const (
	maxEvaluated      = 10_000
	maxEvaluatedBytes = 128 << 20
)

func newCache(maxTokens func() int) *cache {
	c := &cache{maxTokens: maxTokens, maxBytes: maxEvaluatedBytes}
	c.flush()
	return c
}

func (c *cache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byDigest = make(map[digest]*script)
	c.bySource = make(map[string]*script)
	c.evaluated.Init()
	c.droppable, c.size = 0, 0
}

func (c *cache) find(d digest) *script {
	c.mu.RLock()
	s := c.byDigest[d]
	c.mu.RUnlock()
	s.touch()
	return s
}

// touch notes that the script was used. It may be nil.
func (s *script) touch() {
	if s != nil && !s.used.Load() {
		s.used.Store(true)
	}
}

// evaluate returns the script of a source, compiling it when it is new.
func (c *cache) evaluate(source []byte) (*script, error) {
	c.mu.RLock()
	s := c.bySource[string(source)]
	c.mu.RUnlock()
	if s != nil {
		s.touch()
		return s, nil
	}
	return c.add(source, false)
}

// load is evaluate for SCRIPT LOAD: the script stays.
func (c *cache) load(source []byte) (*script, error) { return c.add(source, true) }

func (c *cache) add(source []byte, keep bool) (*script, error) {
	c.mu.RLock()
	s := c.bySource[string(source)]
	c.mu.RUnlock()
	if s == nil {
		var err error
		if s, err = newScript(string(source), c.maxTokens()); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.bySource[s.source]; first != nil {
		s = first
	} else {
		c.byDigest[digest([]byte(s.sha))] = s
		c.bySource[s.source] = s
		c.size += s.size
		if !keep {
			c.droppable += s.size
			c.evaluated.PushBack(s)
		}
	}
	switch {
	case !keep:
		c.drop()
	case !s.kept:
		s.kept = true
	}
	return s, nil
}

// drop makes room where there are too many scripts of EVAL's. It requires mu.
func (c *cache) drop() {
	for c.evaluated.Len() > maxEvaluated || c.droppable > c.maxBytes && c.evaluated.Len() > 1 {
		first := c.evaluated.Front()
		s := first.Value.(*script)
		switch {
		case s.kept: // SCRIPT LOAD came after EVAL
		case s.used.Swap(false):
			c.evaluated.MoveToBack(first)
			continue
		default:
			delete(c.byDigest, digest([]byte(s.sha)))
			delete(c.bySource, s.source)
			c.size -= s.size
			c.evicted++
		}
		c.evaluated.Remove(first)
		c.droppable -= s.size
	}
}

// userScript is the chunk name of every script; error texts show it.
const userScript = "@user_script"

// newScript compiles a source. The error's text is what EVAL answers.
func newScript(source string, maxTokens int) (*script, error) {
	flags, body, err := parseShebang(source)
	if err != nil {
		return nil, err
	}
	proto, err := compile(body, userScript, maxTokens)
	if err != nil {
		return nil, fmt.Errorf("Error compiling script (new function): %w", err)
	}
	d := digestOf([]byte(source))
	size := int64(len(source)) + protoSize(proto)
	return &script{sha: string(d[:]), source: source, proto: proto, flags: flags, size: size}, nil
}

// protoSize is about how many bytes a function and those in it take.
func protoSize(p *lua.FunctionProto) int64 {
	size := int64(256 + 4*len(p.Code) + 32*len(p.Constants) + 8*len(p.DbgSourcePositions) + 64*len(p.DbgLocals))
	for _, inner := range p.FunctionPrototypes {
		size += protoSize(inner)
	}
	return size
}

// compile turns a chunk into bytecode. The chunk name follows Lua's rules:
// what follows '@' or '=' is shown, anything else is the source itself.
func compile(source, chunkName string, maxTokens int) (proto *lua.FunctionProto, err error) {
	short := shortSource(chunkName)
	chunk, err := parse(source, short, maxTokens)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s:1: function or expression too complex", short)
		}
	}()
	proto, err = lua.Compile(chunk.stmts, chunkName)
	if err != nil {
		var e *lua.CompileError
		if !errors.As(err, &e) {
			return nil, fmt.Errorf("%s:1: function or expression too complex", short)
		}
		return nil, fmt.Errorf("%s:%d: %s", short, max(lineOf(e.Line), 1), "function or expression too complex")
	}
	// Nobody passes a chunk arguments, so it need not gather them.
	proto.IsVarArg = 0
	nameLocals(proto, chunk.locals[0], chunk.locals)
	return proto, nil
}

// nameLocals replaces what gopher-lua noted of a function's locals with what
// the parser knows; see position.
func nameLocals(p *lua.FunctionProto, own []*lua.DbgLocalInfo, all map[position][]*lua.DbgLocalInfo) {
	p.DbgLocals = own
	for _, inner := range p.FunctionPrototypes {
		nameLocals(inner, all[inner.LineDefined], all)
	}
}
