package scripting

import (
	"container/list"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
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
	sha     string
	source  string
	proto   *lua.FunctionProto
	flags   flags
	verdict verdict // whether its keys are all that it uses

	size int64       // about, in bytes
	used atomic.Bool // since the cache last looked for one to drop
	gone atomic.Bool // dropped: a set shown before may still have it
	kept bool        // by SCRIPT LOAD; protected by the cache's mu

	plain *plainProgram // nil: the interpreter runs it
	why   string        // it is not plain
}

// A cache holds the scripts that were loaded or evaluated. Finding one takes no
// lock: shown is what the cache held a while ago, and only what came since is
// looked for under the mutex. When that has been done about as often as there
// are scripts, shown is renewed, so that a new script costs its share of the
// copy and no more.
//
// Clients that write their arguments into the source send another script each
// time. Of those that only EVAL brought, the cache keeps maxEvaluated, and
// drops one that was not used of late (the second-chance rule) for the next;
// what SCRIPT LOAD brought stays until SCRIPT FLUSH.
type cache struct {
	maxTokens func() int // what a source may have; see parse
	maxBytes  int64      // what scripts of EVAL's may take together
	judge     func(*chunk) verdict
	prepare   func(*script) // looks at a new script before others see it; nil: nobody

	shown atomic.Pointer[scriptSet] // never changed, only replaced

	mu        sync.Mutex // protects what follows
	all       scriptSet
	late      int       // scripts that shown did not have when they were looked for
	evaluated list.List // of *script that may be dropped, the next candidate first
	droppable int64     // bytes they take
	size      int64     // bytes all scripts take
	evicted   int64     // scripts dropped since start or CONFIG RESETSTAT
}

// A scriptSet is scripts under both their names: EVAL finds its by the source
// and need not hash it.
type scriptSet struct {
	byDigest map[digest]*script
	bySource map[string]*script
}

func (s *scriptSet) clone() *scriptSet {
	return &scriptSet{maps.Clone(s.byDigest), maps.Clone(s.bySource)}
}

const (
	maxEvaluated      = 10_000
	maxEvaluatedBytes = 128 << 20
)

func newCache(maxTokens func() int, judge func(*chunk) verdict) *cache {
	c := &cache{maxTokens: maxTokens, maxBytes: maxEvaluatedBytes, judge: judge}
	c.flush()
	return c
}

func (c *cache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = scriptSet{make(map[digest]*script), make(map[string]*script)}
	c.evaluated.Init()
	c.droppable, c.size = 0, 0
	c.show()
}

// show renews shown. mu must be held.
func (c *cache) show() {
	c.shown.Store(c.all.clone())
	c.late = 0
}

// found counts a script that shown does not have, nil where all does not
// either. mu must be held.
func (c *cache) found(s *script) *script {
	if s != nil {
		if c.late++; c.late >= len(c.all.byDigest) {
			c.show()
		}
		s.touch()
	}
	return s
}

func (c *cache) find(d digest) *script {
	if s := c.shown.Load().byDigest[d]; s.touch() {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found(c.all.byDigest[d])
}

func (c *cache) findSource(source []byte) *script {
	if s := c.shown.Load().bySource[string(source)]; s.touch() {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found(c.all.bySource[string(source)])
}

// touch notes that the script was used, and reports whether the cache still
// has it. It may be nil.
func (s *script) touch() bool {
	if s == nil || s.gone.Load() {
		return false
	}
	if !s.used.Load() {
		s.used.Store(true)
	}
	return true
}

// evaluate returns the script of a source, compiling it when it is new.
func (c *cache) evaluate(source []byte) (*script, error) {
	if s := c.findSource(source); s != nil {
		return s, nil
	}
	return c.add(source, false)
}

// load is evaluate for SCRIPT LOAD: the script stays.
func (c *cache) load(source []byte) (*script, error) { return c.add(source, true) }

func (c *cache) add(source []byte, keep bool) (*script, error) {
	s := c.findSource(source)
	if s == nil {
		var err error
		if s, err = newScript(string(source), c.maxTokens(), c.judge); err != nil {
			return nil, err
		}
		if c.prepare != nil {
			c.prepare(s)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.all.bySource[s.source]; first != nil {
		s = first
	} else {
		s.gone.Store(false) // it may have been dropped since it was found
		c.all.byDigest[digest([]byte(s.sha))] = s
		c.all.bySource[s.source] = s
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
			s.gone.Store(true)
			delete(c.all.byDigest, digest([]byte(s.sha)))
			delete(c.all.bySource, s.source)
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
func newScript(source string, maxTokens int, judge func(*chunk) verdict) (*script, error) {
	flags, body, err := parseShebang(source)
	if err != nil {
		return nil, err
	}
	var v verdict
	proto, err := compileJudged(body, userScript, maxTokens, func(c *chunk) { v = judge(c) })
	if err != nil {
		return nil, fmt.Errorf("Error compiling script (new function): %w", err)
	}
	d := digestOf([]byte(source))
	size := int64(len(source)) + protoSize(proto)
	return &script{sha: string(d[:]), source: source, proto: proto, flags: flags, verdict: v, size: size}, nil
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
// what follows '@' or '=' is shown, anything else is the source itself. It ends
// at a NUL, as in C.
func compile(source, chunkName string, maxTokens int) (*lua.FunctionProto, error) {
	return compileJudged(source, chunkName, maxTokens, func(*chunk) {})
}

// compileJudged is compile, with a look at the syntax tree before gopher-lua's
// compiler, which folds constants in it.
func compileJudged(source, chunkName string, maxTokens int, look func(*chunk)) (proto *lua.FunctionProto, err error) {
	chunkName = cString(chunkName)
	short := shortSource(chunkName)
	chunk, err := parse(source, short, maxTokens)
	if err != nil {
		return nil, err
	}
	look(chunk)
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
