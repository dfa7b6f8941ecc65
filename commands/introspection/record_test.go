package introspection

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/resp"
)

// recordIntrospection asks the redis-server on this machine what the recording asks, anew:
//
//	go test ./commands/introspection -run TestRecordIntrospection -record-introspection
//
// The answer of a question that was added by hand may be _, a null: "_\r\n".
var recordIntrospection = flag.Bool("record-introspection", false,
	"record testdata/introspection.txt from redis-server")

const (
	introspectionFile = "testdata/introspection.txt"
	recordedVersion   = "7.0.15"
)

// An exchange is one recorded command and its answer, without Redis' sentences: see
// masked.
type exchange struct {
	server string // "standalone" or "cluster": who was asked
	proto  int
	args   [][]byte
	reply  resp.Value
}

func (e *exchange) String() string {
	words := make([]string, len(e.args))
	for i, a := range e.args {
		words[i] = strconv.Quote(string(a))
	}
	return e.server + " " + strconv.Itoa(e.proto) + " " + strings.Join(words, " ")
}

// isAbout reports whether the question is COMMAND sub, for INFO and DOCS of one
// name.
func (e *exchange) isAbout(sub string) bool {
	return len(e.args) == 3 && commands.EqualFold(e.args[0], "command") && commands.EqualFold(e.args[1], sub)
}

func TestRecordIntrospection(t *testing.T) {
	if !*recordIntrospection {
		t.Skip("only with -record-introspection: it needs redis-server " + recordedVersion)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out,
		"# Answers of redis-server %s, recorded by TestRecordIntrospection with -record-introspection.\n",
		recordedVersion)
	fmt.Fprintf(&out,
		"# Who was asked, in which protocol, what; below it the answer. Texts that Redis words are masked.\n")
	ask, asked := (func([]string) resp.Value)(nil), ""
	for _, e := range recorded(t) {
		if server := fmt.Sprint(e.server, e.proto); server != asked {
			var flags []string
			if e.server == "cluster" {
				flags = []string{"--cluster-enabled", "yes"}
			}
			ask, asked = startRedis(t, e.proto, flags...), server
		}
		var words []string
		for _, arg := range e.args {
			words = append(words, string(arg))
		}
		e.reply = ask(words)
		e.reply = masked(&e)
		fmt.Fprintf(&out, "\n%s\n%q\n", &e, resp.Append(nil, &e.reply, e.proto))
	}
	require.NoError(t, os.WriteFile(introspectionFile, out.Bytes(), 0o644))
}

// startRedis starts a redis-server for one test, and returns a function that sends it a
// command.
func startRedis(t *testing.T, proto int, flags ...string) func(args []string) resp.Value {
	t.Helper()
	server, err := oracle.Start(oracle.Options{
		RealTime: true, Args: append([]string{"--cluster-port", "0"}, flags...),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	conn, err := server.Dial()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	in := bufio.NewReader(conn)
	ask := func(args []string) resp.Value {
		request := fmt.Appendf(nil, "*%d\r\n", len(args))
		for _, a := range args {
			request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(a), a)
		}
		_, err := conn.Write(request)
		require.NoError(t, err)
		reply, err := readReply(in)
		require.NoError(t, err, "%q", args)
		return reply
	}
	hello := ask([]string{"HELLO", strconv.Itoa(proto)})
	at := slices.IndexFunc(hello.Elems(), func(v resp.Value) bool { return v.Str() == "version" })
	require.Equal(t, recordedVersion, hello.Elems()[at+1].Str())
	return ask
}

// recorded reads the recording.
func recorded(t *testing.T) []exchange {
	t.Helper()
	text, err := os.ReadFile(introspectionFile)
	require.NoError(t, err)
	var out []exchange
	for _, block := range strings.Split(string(text), "\n\n")[1:] {
		question, answer, ok := strings.Cut(strings.TrimSpace(block), "\n")
		require.True(t, ok, "%q", block)
		var e exchange
		_, err := fmt.Sscan(question, &e.server, &e.proto)
		require.NoError(t, err)
		_, rest, _ := strings.Cut(question, " ")
		_, rest, _ = strings.Cut(rest, " ")
		e.args, err = oracle.Words(rest)
		require.NoError(t, err, "%q", question)
		raw, err := strconv.Unquote(answer)
		require.NoError(t, err)
		e.reply, err = readReply(bufio.NewReader(strings.NewReader(raw)))
		require.NoError(t, err)
		out = append(out, e)
	}
	require.NotEmpty(t, out)
	return out
}
