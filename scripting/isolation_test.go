package scripting

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/store"
)

// probe lists everything that a script can reach, with types, and with the
// values of numbers.
const probe = `
local out, seen = {}, {}
local function walk(t, path)
  if seen[t] then return end
  seen[t] = true
  local keys = {}
  for k, v in pairs(t) do
    local text = type(v) == 'number' and tostring(v) or ''
    keys[#keys + 1] = tostring(k) .. ' ' .. type(v) .. ' ' .. text
  end
  table.sort(keys)
  for _, k in ipairs(keys) do out[#out + 1] = path .. k end
  for k, v in pairs(t) do if type(v) == 'table' then walk(v, path .. tostring(k) .. '.') end end
  local mt = getmetatable(t)
  if type(mt) == 'table' then walk(mt, path .. '(meta).') end
end
walk(_G, '') walk(getmetatable(''), 'string.')
out[#out + 1] = cjson.encode({1.5, {}}) .. #KEYS .. #ARGV .. type(redis.call('get', 'nokey'))
return table.concat(out, '\n')`

// evaluateIn is evaluate in a given interpreter state.
func evaluateIn(t *testing.T, in *interp, c *commands.Ctx, source string) string {
	c.Proto = resp.RESP2
	c.Reset()
	s, err := in.engine.scripts.load([]byte(source))
	if err != nil {
		return err.Error()
	}
	keys, args, refusal := splitKeys(evalArgs(source))
	require.Empty(t, refusal)
	reply := in.run(c, s, false, keys, args)
	return string(resp.Append(nil, &reply, resp.RESP2))
}

// TestScriptsLeaveNoTrace runs scripts that try to leave a trace.
func TestScriptsLeaveNoTrace(t *testing.T) {
	e, c := newTestEngine(t)
	in := newInterp(e, false)
	want := evaluateIn(t, in, c, probe)
	require.Contains(t, want, ".call function") // of redis or server, which are one table
	for _, s := range sources(t, "intruders") {
		evaluateIn(t, in, c, s.text)
		if in.unusable {
			in = newInterp(e, false) // as Engine does
		}
		require.Equal(t, want, evaluateIn(t, in, c, probe), s.text)
		require.Zero(t, in.state.Main().Top(), s.text)
		require.Nil(t, in.child.Store, s.text)
	}
}

func TestProbeSeesATrace(t *testing.T) {
	e, c := newTestEngine(t)
	in := newInterp(e, false)
	want := evaluateIn(t, in, c, probe)
	in.state.Globals.SetString("leak", in.state.Globals.GetString("redis"))
	require.NotEqual(t, want, evaluateIn(t, in, c, probe))
}

func TestConcurrentScripts(t *testing.T) {
	e, c := newTestEngine(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			s := store.New() // a store for each goroutine, because locks are taken by sessions
			own := &commands.Ctx{Scope: c.Scope}
			own.Store, own.DB, own.Env = s, s.DB(0), nil
			for i := range 200 {
				want := strconv.Itoa(g*1000 + i)
				source := fmt.Sprintf("local x = pcall(error) redis.call('set', KEYS[1], %s) return "+
					"redis.call('get', KEYS[1]) .. ''", want)
				if i%2 == 0 {
					source = "redis.call('set', KEYS[1], ARGV[1]) return redis.call('get', KEYS[1])"
				}
				args := [][]byte{[]byte("EVAL"), []byte(source), []byte("1"), []byte("k"), []byte(want)}
				got := evaluate(e, own, resp.RESP2, args)
				if got != fmt.Sprintf("$%d\r\n%s\r\n", len(want), want) {
					t.Errorf("%q instead of %s", got, want)
				}
				if i%50 == 0 {
					evaluate(e, own, resp.RESP2, [][]byte{[]byte("SCRIPT"), []byte("FLUSH")})
				}
			}
		})
	}
	wg.Wait()
}

// TestCases runs testdata/cases, in the format of package scenario, with a new engine for each section.
func TestCases(t *testing.T) {
	files, err := scenario.Glob("testdata/cases/*.cases")
	require.NoError(t, err)
	for _, f := range files {
		for _, s := range f.Sections {
			e, c := newTestEngine(t)
			for i := range s.Steps {
				step := &s.Steps[i]
				require.True(t, step.IsRecorded, step.Line)
				require.Equal(t, string(step.Recorded), evaluate(e, c, resp.RESP2, step.Args), step.Place(&s))
			}
		}
	}
}

func FuzzScripts(f *testing.F) {
	for _, s := range append(sources(f, "hostile"), sources(f, "intruders")...) {
		f.Add(s.text)
	}
	f.Add(slidingWindow)
	for seed := range uint64(20) {
		f.Add(newGenerator(seed).program())
	}
	e, c := newTestEngine(f)
	f.Fuzz(func(t *testing.T, source string) {
		// Parsing and compiling terminate for every source; running may not.
		if _, err := newScript(source, 0, e.prepare); err != nil {
			require.NotContains(t, evaluate(e, c, resp.RESP2, evalArgs(source)), internalError)
			return
		}
		if canLoop(source) {
			return
		}
		reply := evaluate(e, c, resp.RESP2, evalArgs(source))
		require.NotEmpty(t, reply)
		require.NotContains(t, reply, internalError)
	})
}

// canLoop reports whether a source might run for long. It may be wrong about
// those that do not.
func canLoop(source string) bool {
	return regexp.MustCompile("for|while|repeat|function|load|rep|find|match|gsub|sort|concat|wrap|insert").
		MatchString(source)
}
