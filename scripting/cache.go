package scripting

import (
	"container/list"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/ast"
	"github.com/zlimit/zlimit/scripting/lua/syntax"
	"github.com/zlimit/zlimit/scripting/proof"
)

type digest [2 * sha1.Size]byte

func digestOf(source []byte) (d digest) {
	sum := sha1.Sum(source)
	hex.Encode(d[:], sum[:])
	return d
}

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

// A script is a compiled source, shared by any number of states.
type script struct {
	sha    string
	source string
	proto  *lua.Proto
	flags  flags
	proof  proof.Proof // whether the script uses no keys besides KEYS

	size         int64       // estimate in bytes
	recentlyUsed atomic.Bool // since the cache last looked for a script to evict
	evicted      atomic.Bool // a snapshot may still hold it
	pinned       bool        // loaded by SCRIPT LOAD; protected by the cache's mu
}

// A cache holds the loaded and evaluated scripts. Lookups take no lock for scripts in the snapshot. It is
// renewed after about as many misses as there are scripts, which amortizes the cost of the copy.
//
// Clients that write their arguments into the source send a new script each
// time. The cache keeps maxEvaluated scripts known from EVAL alone and evicts
// by the second-chance rule. Scripts of SCRIPT LOAD stay until SCRIPT FLUSH.
type cache struct {
	maxTokens func() int // limit of a source; see parse
	maxBytes  int64      // limit of all evaluated scripts
	prepare   prepareFunc

	snapshot atomic.Pointer[scriptSet] // read-only; replaced as a whole

	mu             sync.Mutex // protects the fields below
	all            scriptSet
	misses         int       // lookups that the snapshot missed
	evaluated      list.List // of *script that may be evicted, the next candidate first
	evaluatedBytes int64     // bytes of the scripts in evaluated
	size           int64     // bytes of all scripts
	evicted        int64     // scripts evicted since start or CONFIG RESETSTAT
}

// A prepareFunc resolves the commands that code calls, and says which keys they use.
type prepareFunc func(*ast.Chunk, *lua.Proto) proof.Proof

// A scriptSet indexes scripts by digest and by source. EVAL looks up the source and need not hash it.
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

func newCache(maxTokens func() int, prepare prepareFunc) *cache {
	c := &cache{maxTokens: maxTokens, maxBytes: maxEvaluatedBytes, prepare: prepare}
	c.flush()
	return c
}

func (c *cache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = scriptSet{make(map[digest]*script), make(map[string]*script)}
	c.evaluated.Init()
	c.evaluatedBytes, c.size = 0, 0
	c.publish()
}

// publish renews the snapshot. It requires mu.
func (c *cache) publish() {
	c.snapshot.Store(c.all.clone())
	c.misses = 0
}

// recordMiss counts a script that the snapshot did not have; s may be nil. It requires mu.
func (c *cache) recordMiss(s *script) *script {
	if s != nil {
		if c.misses++; c.misses >= len(c.all.byDigest) {
			c.publish()
		}
		s.touch()
	}
	return s
}

// lookupArg returns the script of a digest as a client writes it, or nil.
func (c *cache) lookupArg(arg []byte) *script {
	if len(arg) != len(digest{}) {
		return nil
	}
	if s := c.snapshot.Load().byDigest[digest(arg)]; s.touch() {
		return s
	}
	d, _ := parseDigest(arg)
	return c.lookup(d)
}

func (c *cache) lookup(d digest) *script {
	if s := c.snapshot.Load().byDigest[d]; s.touch() {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recordMiss(c.all.byDigest[d])
}

func (c *cache) lookupSource(source []byte) *script {
	if s := c.snapshot.Load().bySource[string(source)]; s.touch() {
		return s
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recordMiss(c.all.bySource[string(source)])
}

// touch marks the script as used and reports whether the cache still holds it. s may be nil.
func (s *script) touch() bool {
	if s == nil || s.evicted.Load() {
		return false
	}
	if !s.recentlyUsed.Load() {
		s.recentlyUsed.Store(true)
	}
	return true
}

// evaluate returns the script of a source.
func (c *cache) evaluate(source []byte) (*script, error) {
	if s := c.lookupSource(source); s != nil {
		return s, nil
	}
	return c.add(source, false)
}

// load is evaluate for SCRIPT LOAD.
func (c *cache) load(source []byte) (*script, error) { return c.add(source, true) }

func (c *cache) add(source []byte, pin bool) (*script, error) {
	s := c.lookupSource(source)
	if s == nil {
		var err error
		if s, err = newScript(string(source), c.maxTokens(), c.prepare); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.all.bySource[s.source]; first != nil {
		s = first
	} else {
		s.evicted.Store(false) // it may have been evicted since it was looked up
		c.all.byDigest[digest([]byte(s.sha))] = s
		c.all.bySource[s.source] = s
		c.size += s.size
		if !pin {
			c.evaluatedBytes += s.size
			c.evaluated.PushBack(s)
		}
	}
	switch {
	case !pin:
		c.evict()
	case !s.pinned:
		s.pinned = true
	}
	return s, nil
}

// evict drops evaluated scripts until they are within the limits. It requires mu.
func (c *cache) evict() {
	for c.evaluated.Len() > maxEvaluated || c.evaluatedBytes > c.maxBytes && c.evaluated.Len() > 1 {
		first := c.evaluated.Front()
		s := first.Value.(*script)
		switch {
		case s.pinned: // loaded after EVAL
		case s.recentlyUsed.Swap(false):
			c.evaluated.MoveToBack(first)
			continue
		default:
			s.evicted.Store(true)
			delete(c.all.byDigest, digest([]byte(s.sha)))
			delete(c.all.bySource, s.source)
			c.size -= s.size
			c.evicted++
		}
		c.evaluated.Remove(first)
		c.evaluatedBytes -= s.size
	}
}

// userScript is the chunk name of every script, for error texts.
const userScript = "@user_script"

// newScript compiles a source. EVAL answers the error's text.
func newScript(source string, maxTokens int, prepare prepareFunc) (*script, error) {
	flags, body, err := parseShebang(source)
	if err != nil {
		return nil, err
	}
	chunk, proto, err := compile(body, userScript, maxTokens, bindings())
	if err != nil {
		//nolint:staticcheck // ST1005: Redis' text
		return nil, fmt.Errorf("Error compiling script (new function): %w", err)
	}
	v := prepare(chunk, proto)
	d := digestOf([]byte(source))
	size := int64(len(source)) + proto.Size()
	return &script{sha: string(d[:]), source: source, proto: proto, flags: flags, proof: v, size: size}, nil
}

// compile turns a source into code. syntax.ShortSource(name) is in error texts.
func compile(source, name string, maxTokens int, b *lua.Bindings) (*ast.Chunk, *lua.Proto, error) {
	chunk, err := syntax.Parse(source, name, maxTokens)
	if err != nil {
		return nil, nil, err
	}
	proto, err := lua.Compile(chunk, name, b)
	return chunk, proto, err
}
