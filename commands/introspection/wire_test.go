package introspection

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

func words(args ...string) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = []byte(a)
	}
	return out
}

// key returns the KeySpec of one key at a fixed position.
func key(at int, flags string) commands.KeySpec {
	return commands.KeySpec{Flags: flags, First: at, Step: 1}
}

// wire formats a reply line by line, for readable differences.
func wire(v resp.Value, proto int) []string {
	return strings.Split(string(resp.Append(nil, &v, proto)), "\r\n")
}

// decoded is a decoded reply.
func decoded(t *testing.T, v resp.Value, proto int) resp.Value {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(resp.Append(nil, &v, proto)))
	out, err := readReply(in)
	require.NoError(t, err)
	require.Zero(t, in.Buffered())
	return out
}

// readReply decodes one reply. It keeps the type: a status stays a status, a set a set.
func readReply(in *bufio.Reader) (resp.Value, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return resp.None, err
	}
	if len(line) < 3 || !strings.HasSuffix(line, "\r\n") {
		return resp.None, fmt.Errorf("not a reply: %q", line)
	}
	body := line[1 : len(line)-2]
	switch line[0] {
	case '+':
		return resp.Status(body), nil
	case '-':
		return resp.Error(body), nil
	case '_':
		return resp.Null, nil
	}
	n, err := strconv.ParseInt(body, 10, 64)
	if err != nil {
		return resp.None, err
	}
	switch line[0] {
	case ':':
		return resp.Int(n), nil
	case '$':
		if n < 0 {
			return resp.Null, nil
		}
		text := make([]byte, n+2)
		_, err := io.ReadFull(in, text)
		return resp.Bulk(string(text[:n])), err
	case '*', '~', '%':
		if n < 0 {
			return resp.NullArray, nil
		}
		if line[0] == '%' {
			n *= 2
		}
		elems := make([]resp.Value, n)
		for i := range elems {
			if elems[i], err = readReply(in); err != nil {
				return resp.None, err
			}
		}
		switch line[0] {
		case '~':
			return resp.Set(elems...), nil
		case '%':
			return resp.Map(elems...), nil
		}
		return resp.Array(elems...), nil
	}
	return resp.None, fmt.Errorf("not a reply: %q", line)
}
