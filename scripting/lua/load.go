package lua

import (
	"strings"

	"github.com/zlimit/zlimit/scripting/lua/ast"
)

// Compile generates the code of a chunk. ShortSource(name) is at the start of error texts. b may be nil.
func Compile(c *ast.Chunk, name string, b *Bindings) (*Proto, error) { return compile(c, name, b) }

// NewClosure returns a function that runs a chunk with the globals of the state.
func (s *State) NewClosure(p *Proto) *Function { return &Function{proto: p, env: s.Globals} }

// Load compiles a source to a function. name is that of its chunk: "@" and a file, "=" and a text, or the
// source.
func (s *State) Load(source, name string) (*Function, error) {
	source = strings.Clone(source) // constants are parts of it
	c, err := Parse(source, name, s.MaxTokens)
	if err != nil {
		return nil, err
	}
	p, err := Compile(c, name, s.bindings)
	if err != nil {
		return nil, err
	}
	p.setLoaded()
	return s.NewClosure(p), nil
}

func (p *Proto) setLoaded() {
	p.loaded = true
	for _, inner := range p.protos {
		inner.setLoaded()
	}
}
