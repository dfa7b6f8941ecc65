package redislib

import (
	"crypto/sha1"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua"
)

// newState returns a state with the standard library, these ones and a little of a script's surroundings.
func newState() *lua.State {
	s := lua.NewState()
	s.OpenLibraries()
	Open(s)
	for name, values := range map[string][]string{"KEYS": {"k"}, "ARGV": {"a1", "a2"}} {
		t := lua.NewTable(len(values), 0)
		for i, v := range values {
			t.SetInt(i+1, lua.String(v))
		}
		s.Globals.SetString(name, lua.TableValue(t))
	}
	Protect(s)
	return s
}

// eval returns the reply of EVAL on the wire, for what the recordings of these libraries need.
func eval(source string) string {
	s := newState()
	fn, err := s.Load(source, "@user_script")
	if err != nil {
		return "-ERR Error compiling script (new function): " + err.Error() + "\r\n"
	}
	L := s.Main()
	L.Push(lua.FunctionValue(fn))
	if err := L.PCall(0, lua.Nil); err != nil {
		text := strings.NewReplacer("\n", " ", "\r", " ").Replace(err.Error())
		return fmt.Sprintf("-ERR %s script: %x, on %s:%d.\r\n",
			text, sha1.Sum([]byte(source)), err.Source, err.Line)
	}
	return encode(L.Get(1))
}

func encode(v lua.Value) string {
	switch v.Kind() {
	case lua.KindString:
		return fmt.Sprintf("$%d\r\n%s\r\n", len(v.Str()), v.Str())
	case lua.KindNumber:
		return fmt.Sprintf(":%d\r\n", lua.ToInteger(v.Num()))
	case lua.KindBool:
		if v.Truthy() {
			return ":1\r\n"
		}
	case lua.KindTable:
		if text := v.Table().GetString("err"); text.IsString() {
			return "-" + text.Str() + "\r\n"
		}
		var elements []string
		for i := 1; ; i++ {
			e := v.Table().GetInt(i)
			if e.IsNil() {
				break
			}
			elements = append(elements, encode(e))
		}
		return fmt.Sprintf("*%d\r\n%s", len(elements), strings.Join(elements, ""))
	}
	return "$-1\r\n"
}

// TestRecorded runs the scripts of package scripting's recordings that are about these libraries.
func TestRecorded(t *testing.T) {
	for _, name := range []string{
		"bit", "cjson", "cmsgpack", "struct", "numbers", "generated", "dump", "globals",
	} {
		data, err := os.ReadFile("../testdata/" + name + ".txt")
		require.NoError(t, err)
		cases := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n===\n")
		run, bad := 0, 0
		for _, text := range cases {
			source, quoted, _ := strings.Cut(text, "\n---\n")
			want, err := strconv.Unquote(quoted)
			require.NoError(t, err)
			if strings.Contains(source, "redis.") {
				continue
			}
			run++
			if got := eval(source); got != want {
				bad++
				t.Errorf("%s\n got %.200q\nwant %.200q", source, got, want)
			}
		}
		t.Logf("%s: %d of %d scripts, %d differ", name, run, len(cases), bad)
		require.Greater(t, run, len(cases)/2)
	}
}
