package syntax

import "strings"

// An Error is a text with its position, in the form of Lua 5.1.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// ShortSource returns a chunk's name as errors show it. It has at most 59 bytes.
func ShortSource(name string) string {
	const size = 60 // with the NUL in C
	switch {
	case strings.HasPrefix(name, "="):
		return name[1:min(len(name), size)]
	case strings.HasPrefix(name, "@"):
		name = name[1:]
		if most := size - len(" '...' ") - 1; len(name) > most {
			return "..." + name[len(name)-most:]
		}
		return name
	}
	line := name
	if i := strings.IndexAny(name, "\n\r"); i >= 0 {
		line = name[:i]
	}
	line = line[:min(len(line), size-len(` [string "..."] `)-1)]
	if len(line) < len(name) {
		line += "..."
	}
	return `[string "` + line + `"]`
}
