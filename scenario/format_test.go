package scenario

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRepetition: the lines that @for, @repeat, @insert and ${} make.
func TestRepetition(t *testing.T) {
	f, err := Read(`@resp 3
-- both
GET $k
= ${ab*2}
-- twice
@repeat 2
@insert both
@end
== of $k, $n
# a comment
@for k,n in a,1
    "b c,d,2"
@directives --name
    "a b"
@insert both
@repeat 2
ECHO "${x *3}"
@repeat 2 i
PING$i
    $n
@end
@end
== last
@resp 2
TIME
`)
	require.NoError(t, err)
	require.Equal(t, []string{
		"== of a, 1", "GET a", `ECHO "x x x "`, "PING0 1", "PING1 1", `ECHO "x x x "`, "PING0 1", "PING1 1",
		"== of b c, d,2", "GET b c", `ECHO "x x x "`, "PING0 d,2", "PING1 d,2", `ECHO "x x x "`, "PING0 d,2",
		"PING1 d,2",
		"== last", "TIME",
	}, f.Lines())
	require.Equal(t, []string{"--name", "a b"}, f.Sections[1].Directives)
	want, ok := f.Sections[0].Steps[0].Want()
	require.True(t, ok)
	require.Equal(t, "abab", want)
	require.Equal(t, ":3 (inserted by line 15)", f.Sections[0].Steps[0].Place(&f.Sections[0]))
	require.Equal(t, []int{3, 3, 2}, []int{
		f.Sections[0].Protocol, f.Sections[1].Protocol,
		f.Sections[2].Protocol,
	})
	require.Len(t, f.Under(2).Sections, 1)
}

// TestFaults: what each kind of expectation accepts and refuses.
func TestFaults(t *testing.T) {
	for text, cases := range map[string]struct{ good, bad []string }{
		"= [1 (nil)]": {
			[]string{"*2\r\n:1\r\n$-1\r\n", "~2\r\n$1\r\n1\r\n_\r\n"},
			[]string{"*2\r\n:1\r\n:1\r\n", "*1\r\n:1\r\n", "-[1 (nil)] \r\n"},
		},
		"=":           {[]string{"$0\r\n\r\n"}, []string{"_\r\n", "+ \r\n"}},
		`= \x00\\x20`: {[]string{"$5\r\n\x00\\x20\r\n"}, []string{"$5\r\n\x00\\x21\r\n"}},
		"= {s-1}":     {[]string{":1699999999\r\n"}, []string{":1700000000\r\n"}},
		"~ ^a\n!~ b":  {[]string{"+a\r\n", "-ac\r\n"}, []string{"+ba\r\n", "+ab\r\n", "+\r\n"}},
		"|+OK":        {[]string{"+OK\r\n"}, []string{"+OK \r\n", "-OK\r\n", "$2\r\nOK\r\n"}},
		"|$2\n|a\\":   {nil, []string{"$2\r\na\r\n\r\n", "$1\r\na\r\n"}},
		"# nothing": {
			[]string{"+OK\r\n", "_\r\n", ":-1\r\n"}, []string{"-ERR\r\n", "*2\r\n:1\r\n-ERR x\r\n"},
		},
	} {
		for _, reply := range cases.good {
			require.Empty(t, run(t, "== s\nPING\n"+text, []string{reply}).Faults(), "%s: %q", text, reply)
		}
		for _, reply := range cases.bad {
			faults := run(t, "== s\nPING\n"+text, []string{reply}).Faults()
			require.Len(t, faults, 1, "%s: %q", text, reply)
			require.Contains(t, faults[0], ":2: s: PING\n")
		}
	}
	require.Empty(t, run(t, "== s\n@raw 1 x\n= a\n@closed", []string{"+a\r\n"}).Faults())
	require.NotEmpty(t, run(t, "== s\n@raw 1 x\n= a\n@closed", []string{"+a\r\n+b\r\n"}).Faults())
	for _, replies := range [][]string{{}, {"+OK\r\n+OK\r\n"}, {"*2\r\n+OK\r\n"}, {"what\r\n"}} {
		require.NotEmpty(t, run(t, "== s\nPING\n= OK", replies).Faults(), "%q", replies)
	}
}

// TestValues: what lines and replies may refer to.
func TestValues(t *testing.T) {
	sent := [][][]byte{}
	f, err := Read(`== s
@at 1500
GET {ms} {s-1} {us+7} {x} $id
@save id
@advance -500
@clock 2000
b: GET {ms} "$id" $other
= v $id
@own $id
= $id
`, "own")
	require.NoError(t, err)
	var clocks []int64
	var names []string
	r := Runner{
		Dial: func(name string) (Client, error) {
			names = append(names, name)
			return recorder{script([]string{"+v 7\r\n"}), &sent}, nil
		},
		SetClock: func(ms int64) error { clocks = append(clocks, ms); return nil },
		Own: map[string]func(string) ([]byte, error){
			"own": func(text string) ([]byte, error) { return []byte("+" + text + "\r\n"), nil },
		},
	}
	faults := r.Run(f.Sections[0]).Faults()
	require.Len(t, faults, 1)
	require.Contains(t, faults[0], "want: v v 7\ngot:  v 7")
	require.Contains(t, faults[0], `sent: ["GET" "2000" "v 7" "$other"]`)
	require.Equal(t, []int64{StartMs + 1500, StartMs + 1000, 2000}, clocks)
	require.Equal(t, []string{"A", "b"}, names)
	require.Equal(t, "GET 1700000001500 1700000000 1700000001500007 {x} $id", string(join(sent[0])))
}

type recorder struct {
	*scripted
	sent *[][][]byte
}

func (c recorder) Send(args [][]byte) error {
	*c.sent = append(*c.sent, args)
	return c.scripted.Send(args)
}

func join(args [][]byte) (b []byte) {
	for i, arg := range args {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, arg...)
	}
	return b
}

// TestRecord: replies go below their commands, in place of older ones, and nothing else changes.
func TestRecord(t *testing.T) {
	const before = "# c\n-- block\nPING\n    a\n|old\n|old\n# c\n\n" +
		"== s\n@insert block\nGET k\n\n= v\n|x\nQUIT"
	path := filepath.Join(t.TempDir(), "x.cases")
	require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
	record := func(replies ...string) error {
		f, err := ReadFile(path)
		require.NoError(t, err)
		c := script(replies)
		r := Runner{Dial: func(string) (Client, error) { return c, nil }}
		return Record(path, []Section{r.Run(f.Sections[0])})
	}
	require.NoError(t, record("+PONG\r\n", "$1\r\nv\r\n", "+OK\r\n"))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "# c\n-- block\nPING\n    a\n|+PONG\n# c\n\n"+
		"== s\n@insert block\nGET k\n|$1\n|v\n\n= v\n|x\nQUIT\n|+OK\n", string(got))
	require.Error(t, record("+PONG\r\n"), "a reply is missing")
	unchanged, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(got), string(unchanged))
}

// TestPlay runs a file on a function.
func TestPlay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.cases")
	text := "== a\nGET k\n= GET k\n@w x\n= x\n== b\nFAIL\n= !FAIL\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	client := AnsweringText(func(args [][]byte) string {
		if string(args[0]) == "FAIL" {
			return "!FAIL"
		}
		return string(bytes.Join(args, []byte(" ")))
	})
	var played []string
	Play(t, path, func(_ *testing.T, s Section) *Runner {
		played = append(played, s.Title)
		return &Runner{
			Dial: func(string) (Client, error) { return client, nil },
			Own: map[string]func(string) ([]byte, error){
				"w": func(text string) ([]byte, error) { return []byte("+" + text + "\r\n"), nil },
			},
		}
	}, "w")
	require.Equal(t, []string{"a", "b"}, played)
	f, err := Read("== b\nFAIL\n")
	require.NoError(t, err)
	r := Runner{Dial: func(string) (Client, error) { return client, nil }}
	require.Len(t, r.Run(f.Sections[0]).Faults(), 1, "an error that nobody expects")
	require.Error(t, client.SendRaw(nil))
	_, err = client.Rest()
	require.Error(t, err)
}
