package slowlog

import (
	"fmt"

	"github.com/zlimit/zlimit/commands"
)

const (
	maxArgs = 32  // of an entry, with the one that counts the others
	maxArg  = 128 // bytes of an argument of an entry
)

// Args returns arguments as an entry of the slow log keeps them. redacted has a bit
// for each that is hidden, see commands.Ctx.
func Args(args [][]byte, redacted uint64) []string {
	shown := args[:min(len(args), maxArgs)]
	if len(args) > maxArgs {
		shown = args[:maxArgs-1]
	}
	var text []byte
	ends := make([]int, 0, maxArgs)
	for i, a := range shown {
		switch {
		case redacted>>i&1 != 0:
			text = append(text, commands.RedactedArg...)
		case len(a) > maxArg:
			text = fmt.Appendf(append(text, a[:maxArg]...), "... (%d more bytes)", len(a)-maxArg)
		default:
			text = append(text, a...)
		}
		ends = append(ends, len(text))
	}
	if more := len(args) - len(shown); more > 0 {
		text = fmt.Appendf(text, "... (%d more arguments)", more)
		ends = append(ends, len(text))
	}
	whole, from := string(text), 0
	out := make([]string, len(ends))
	for i, end := range ends {
		out[i] = whole[from:end]
		from = end
	}
	return out
}
