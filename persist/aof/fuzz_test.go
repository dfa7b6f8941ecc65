package aof

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzReader feeds any bytes to verify, the command reader and the key search. They
// must not panic, must agree on how far the file is good, and hold no more memory than
// the file justifies.
func FuzzReader(f *testing.F) {
	batch := []byte("#ZL:1000:0\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n")
	for _, seed := range []string{
		"", "*1\r\n$4\r\nPING\r\n", "*2147483647\r\n$1\r\n", "*1\r\n$9999999999\r\nab",
		"#TS:1\r\n*1\r\n$4\r\nEXEC\r\n",
		"*1\r\n$5\r\nMULTI\r\n*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nEXEC\r\n",
		string(appendTrailer(batch, len(batch), 1)), string(batch) + strings.Repeat("\x00", 1000),
		"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1200\r\n" + strings.Repeat("\x00", 1200) + "\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, size := bytes.NewReader(data), int64(len(data))
		rep, err := verify(file, 0, size)
		require.NoError(t, err)
		require.GreaterOrEqual(t, rep.ok, int64(0))
		require.LessOrEqual(t, rep.ok, size)
		if rep.flaw == nil {
			require.Equal(t, size, rep.ok)
		} else {
			require.LessOrEqual(t, rep.flaw.at, size)
			require.NotEmpty(t, rep.flaw.text)
		}
		commands := int64(0)
		r := newReader(file, 0, rep.ok)
		for {
			it, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, "the part that survey accepts must be readable")
			if it.args != nil && !isWord(it.args, "multi") && !isWord(it.args, "exec") {
				commands++
			}
		}
		if rep.flaw == nil {
			require.Equal(t, rep.commands, commands)
		}
		require.LessOrEqual(t, cap(r.buf), 2*len(data)+2*readSize)

		// A file truncated there is good.
		again, err := verify(file, 0, rep.ok)
		require.NoError(t, err)
		require.True(t, again.flaw == nil || again.hole(), "%+v", again.flaw)

		_, _, err = describeTail(file, rep.ok, size, firstArgument)
		require.NoError(t, err)
	})
}

// hole reports whether a report ends a file at a sector of zeros. That happens where
// the checksum that vouched for it was cut off.
func (r report) hole() bool { return r.flaw.text == textHole }

// FuzzManifest checks that a parsed manifest can be written and read again.
func FuzzManifest(f *testing.F) {
	f.Add([]byte("file appendonly.aof.1.base.rdb seq 1 type b\n" +
		"file appendonly.aof.1.incr.aof seq 1 type i\n"))
	f.Add([]byte("# comment\nseq 3 file \"a \\\"b\\x00\" type h more 1\n"))
	f.Add([]byte("file 'a\\'b' seq 1 type i\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err != nil {
			return
		}
		for _, p := range append(m.files(), m.history...) {
			require.True(t, plainName(p.name))
		}
		again, err := parseManifest([]byte(m.String()))
		if err != nil { // quoting has made a line too long
			require.Greater(t, len(data), maxManifestLine/4)
			return
		}
		require.Equal(t, m, again)
	})
}

// TestReadIsBoundedAndLinear checks that lengths and counts beyond the file cost
// nothing, and that many small reads stay linear.
func TestReadIsBoundedAndLinear(t *testing.T) {
	for _, lie := range []string{"*2147483647\r\n", "*1\r\n$9999999999\r\n", "*9999999999\r\n$1\r\na\r\n"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rep, err := verify(strings.NewReader(lie), 0, int64(len(lie)))
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.NotNil(t, rep.flaw)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	}
	for _, n := range []int{100, 200} { // bytes read, not time
		var b strings.Builder
		for range n {
			b.WriteString("*1\r\n$5000\r\n" + strings.Repeat("v", 5000) + "\r\n")
		}
		counted := &countingReader{r: strings.NewReader(b.String())}
		_, err := verify(counted, 0, int64(b.Len()))
		require.NoError(t, err)
		require.LessOrEqual(t, counted.n, b.Len()+b.Len()/10)
	}
}

type countingReader struct {
	r io.ReaderAt
	n int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n += n
	return n, err
}

func TestManifest(t *testing.T) {
	m, err := parseManifest([]byte("file a.2.base.rdb seq 2 type b\nfile a.1.incr.aof seq 1 type h\n" +
		"file \"a b\" seq 4 type i\nfile a.5.incr.aof seq 5 type i\n"))
	require.NoError(t, err)
	require.Equal(t,
		"file a.2.base.rdb seq 2 type b\nfile a.1.incr.aof seq 1 type h\nfile \"a b\" seq 4 type i\n"+
			"file a.5.incr.aof seq 5 type i\n", m.String())
	require.EqualValues(t, 2, m.baseSeq())
	require.EqualValues(t, 5, m.lastIncr())
	for text, want := range map[string]string{
		"":                      "empty",
		"# nothing\n":           "empty",
		"file a seq 1 type i":   "without its end",
		"file a seq 1\n":        "not of the form",
		"file a seq 1 type x\n": "type",
		"file a seq 0 type i\n": "number",
		"file a seq 1 type b\nfile b seq 2 type b\n": "line 2: a second base",
		"file a seq 2 type i\nfile b seq 2 type i\n": "do not rise",
		"file ../a seq 1 type i\n":                   "not a name",
		"file \"a seq 1 type i\n":                    "not of the form",
		"\n":                                         "not of the form",
		strings.Repeat("a", 2000) + "\n":             "too long",
	} {
		_, err := parseManifest([]byte(text))
		require.ErrorContains(t, err, want, "%q", text)
	}
}
