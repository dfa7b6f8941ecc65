package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/words"
)

// Words splits a line into words as redis-cli does.
func Words(line string) ([][]byte, error) {
	args, ok := words.Split([]byte(line), nil)
	if !ok {
		return nil, fmt.Errorf("%s: the quotes do not match", line)
	}
	if len(args) == 0 {
		return nil, errors.New("empty command")
	}
	return args, nil
}

// Print formats the bytes of a reply as lines that begin with "|". unescape is its inverse for one line.
func Print(reply []byte) string {
	var out strings.Builder
	for len(reply) > 0 {
		line, rest, ended := bytes.Cut(reply, []byte("\r\n"))
		out.WriteString("|" + escape(string(line)))
		if !ended {
			out.WriteByte('\\')
		}
		out.WriteByte('\n')
		reply = rest
	}
	return out.String()
}

// escape makes bytes outside printable ASCII and a blank at the end visible.
func escape(line string) string {
	var out strings.Builder
	for i := range len(line) {
		switch b := line[i]; {
		case b == '\\':
			out.WriteString(`\\`)
		case b < ' ' || b > '~' || b == ' ' && i == len(line)-1: // editors trim trailing blanks
			fmt.Fprintf(&out, `\x%02x`, b)
		default:
			out.WriteByte(b)
		}
	}
	return out.String()
}

func unescape(line string) ([]byte, error) {
	var out []byte
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] != '\\':
			out = append(out, line[i])
		case i+1 == len(line):
			return out, nil
		case line[i+1] == '\\':
			out = append(out, '\\')
			i++
		case line[i+1] == 'x' && i+3 < len(line):
			b, err := strconv.ParseUint(line[i+2:i+4], 16, 8)
			if err != nil {
				return nil, err
			}
			out = append(out, byte(b))
			i += 3
		default:
			return nil, fmt.Errorf("unknown escape in %s", line)
		}
	}
	return append(out, '\r', '\n'), nil
}
