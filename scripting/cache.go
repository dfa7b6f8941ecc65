package scripting

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

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
}

// A cache holds the scripts that were loaded or evaluated. The maps hold the
// same scripts: EVAL finds its by the source and need not hash it.
type cache struct {
	mu       sync.RWMutex
	byDigest map[digest]*script
	bySource map[string]*script
}

func newCache() *cache {
	c := &cache{}
	c.flush()
	return c
}

func (c *cache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byDigest = make(map[digest]*script)
	c.bySource = make(map[string]*script)
}

func (c *cache) find(d digest) *script {
	c.mu.RLock()
	s := c.byDigest[d]
	c.mu.RUnlock()
	return s
}

// load returns the script of a source, compiling it when it is new.
func (c *cache) load(source []byte) (*script, error) {
	c.mu.RLock()
	s := c.bySource[string(source)]
	c.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	s, err := newScript(string(source))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.bySource[s.source]; first != nil {
		return first, nil
	}
	c.byDigest[digest([]byte(s.sha))] = s
	c.bySource[s.source] = s
	return s, nil
}

// userScript is the chunk name of every script; error texts show it.
const userScript = "@user_script"

// newScript compiles a source. The error's text is what EVAL answers.
func newScript(source string) (*script, error) {
	flags, body, err := parseShebang(source)
	if err != nil {
		return nil, err
	}
	proto, err := compile(body, userScript)
	if err != nil {
		return nil, fmt.Errorf("Error compiling script (new function): %w", err)
	}
	d := digestOf([]byte(source))
	return &script{sha: string(d[:]), source: source, proto: proto, flags: flags}, nil
}

// compile turns a chunk into bytecode. The chunk name follows Lua's rules:
// what follows '@' or '=' is shown, anything else is the source itself.
func compile(source, chunkName string) (proto *lua.FunctionProto, err error) {
	short := shortSource(chunkName)
	chunk, err := parse(source, short)
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
