package upstream

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/zlimit/zlimit/commands"
)

// maxScriptBytes is how many bytes of sources are remembered. Then all are forgotten: a node that
// has a script needs no source.
const maxScriptBytes = 16 << 20

// scripts are the sources that callers have shown, so that a node that lacks one can be sent it.
type scripts struct {
	mu      sync.RWMutex
	sources map[string]string   // protected by mu: by SHA1 in hex
	known   map[string]struct{} // protected by mu: the sources
	bytes   int                 // protected by mu
}

// byScript are the commands that name a script, and those that carry its source.
var byScript = map[string]string{"evalsha": "EVAL", "evalsha_ro": "EVAL_RO"}

// learn remembers the source of EVAL and EVAL_RO, unless it does not compile.
func (s *scripts) learn(cmd *commands.Command, args [][]byte, reply []byte) {
	if (cmd.Name == "eval" || cmd.Name == "eval_ro") && !bytes.HasPrefix(reply,
		[]byte("-ERR Error compiling")) {
		s.add(args[1])
	}
}

// add remembers a source.
func (s *scripts) add(source []byte) {
	s.mu.RLock()
	_, ok := s.known[string(source)]
	s.mu.RUnlock()
	if ok {
		return
	}
	sum := sha1.Sum(source)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || s.bytes+len(source) > maxScriptBytes {
		s.sources, s.known, s.bytes = make(map[string]string), make(map[string]struct{}), 0
	}
	text := string(source)
	s.sources[hex.EncodeToString(sum[:])] = text
	s.known[text] = struct{}{}
	s.bytes += len(text)
}

// source returns the source with a SHA1, or "".
func (s *scripts) source(sha []byte) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sources[strings.ToLower(string(sha))]
}

// forget is SCRIPT FLUSH.
func (s *scripts) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources, s.known, s.bytes = nil, nil, 0
}

// withSource returns a call of EVALSHA as one of EVAL, if the source is known; otherwise args.
func (s *scripts) withSource(cmd *commands.Command, args [][]byte) [][]byte {
	name := byScript[cmd.Name]
	if name == "" {
		return args
	}
	source := s.source(args[1])
	if source == "" {
		return args
	}
	return append([][]byte{[]byte(name), []byte(source)}, args[2:]...)
}

// recover makes a unit send the source of a script that its node lacks. It reports whether to
// send it again.
func (s *scripts) recover(x *unit, reply []byte) bool {
	if code(reply) != "NOSCRIPT" || x.isTransaction() || x.tries.attempts > 0 {
		return false
	}
	args := s.withSource(x.call.Cmd, x.call.Args)
	if len(args) == 0 || &args[0] == &x.call.Args[0] {
		return false
	}
	x.tries.attempts++
	x.args = args
	return true
}
