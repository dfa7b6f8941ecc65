package scripting

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// The scripts pass ARGV to a decoder and traverse the result.
const (
	counting = `local function walk(v) if type(v) ~= 'table' then return 1 end
local n = 1 for k, x in pairs(v) do n = n + walk(k) + walk(x) end return n end
local function count(ok, ...) if not ok then return {err = tostring((...))} end
local n = 0 for i = 1, select('#', ...) do n = n + walk((select(i, ...))) end return n end `
	fuzzMsgpack = counting + `return count(pcall(cmsgpack.unpack, ARGV[1]))`
	fuzzLimit   = counting + `return count(pcall(cmsgpack.unpack_limit, ARGV[1], #ARGV[1] % 7, #ARGV[1] % 3))`
	fuzzJSON    = counting + `return count(pcall(cjson.decode, ARGV[1]))`
	fuzzStruct  = counting + `return count(pcall(struct.unpack, ARGV[1], ARGV[2]))`
	fuzzSize    = counting + `return count(pcall(struct.size, ARGV[1]))`
	fuzzPack    = counting + `return count(pcall(struct.pack, ARGV[1], 1, 'abc', -2.5, ARGV[2], 1e300))`
)

const (
	maxGap            = 1 << 22         // of cmsgpack: empty elements of arrays that one call may make
	bytesPerInputByte = 4 << 10         // a table for each byte
	fixedBytes        = 16 << 20        // for any input
	gapBytes          = 16 * maxGap * 6 // for sparse keys while an array grows
	fixedAndGapBytes  = fixedBytes + gapBytes
)

// decode runs a script and returns the memory that it allocated.
func decode(t testing.TB, e *Engine, c *commands.Ctx, script string, args ...string) (spent uint64) {
	argv := [][]byte{[]byte("EVAL"), []byte(script), []byte("0")}
	for _, a := range args {
		argv = append(argv, []byte(a))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	reply := evaluate(e, c, resp.RESP2, argv)
	runtime.ReadMemStats(&after)
	require.NotContains(t, reply, internalError)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzMsgpackDecode(f *testing.F) {
	for _, s := range []string{
		"", "\x93\x01\xa1a\xc0", "\x81\xa1k\x92\xc2\xc3", "\xdd\xff\xff\xff\xff\x01",
		"\xdf\xff\xff\xff\xff\x01\x02",
		"\xdb\xff\xff\xff\xffx", "\x81\xce\x00\x01\xff\xff\x01",
		"\x81\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00\x01",
		"\xca\x7f\xc0\x00\x01", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "\xc1", "\xc4\x01a",
		strings.Repeat("\x91", 50),
		strings.Repeat("\x81\x01", 50), strings.Repeat("\x81\xce\x00\x01\xff\xff", 20) + "\x01",
	} {
		f.Add([]byte(s))
	}
	e, c := newTestEngine(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, script := range []string{fuzzMsgpack, fuzzLimit} {
			spent := decode(t, e, c, script, string(data))
			require.Less(t, spent, uint64(fixedAndGapBytes+bytesPerInputByte*len(data)))
		}
	})
}

func FuzzJSONDecode(f *testing.F) {
	for _, s := range []string{
		"", "[1,2,{\"a\":null}]", "\"\\ud83d\\ude00\"", "[1e999,-nan(1),0x1f]", strings.Repeat("[", 50),
		strings.Repeat("{\"a\":", 20) + "1", "\"\\u00", "[1,]", "1\x00", "\x00\x001", "tru", "-", "+-1", "0x",
	} {
		f.Add([]byte(s))
	}
	e, c := newTestEngine(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		spent := decode(t, e, c, fuzzJSON, string(data))
		require.Less(t, spent, uint64(fixedBytes+bytesPerInputByte*len(data)))
	})
}

func FuzzStruct(f *testing.F) {
	for _, s := range [][2]string{
		{"i4", "abcd"},
		{"!8bi8d", "0123456789012345678901234567890"},
		{"Bc0s", "\x03abcd\x00"},
		{"dc0", "\x00\x00\x00\x00\x00\x00\xf0\x7f"},
		{"c2147483647", ""},
		{"i32I31", strings.Repeat("\xff", 80)},
		{"!1073741824i4", "abcd"},
		{"> <!", ""},
		{"c99999999999", ""},
		{strings.Repeat("b", 50), strings.Repeat("x", 50)},
		{"i33", ""},
		{"\x00i", ""},
		{"xT", "12345678901"},
	} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	e, c := newTestEngine(f)
	f.Fuzz(func(t *testing.T, format, data []byte) {
		for _, script := range []string{fuzzStruct, fuzzSize, fuzzPack} {
			spent := decode(t, e, c, script, string(format), string(data))
			require.Less(t, spent, uint64(fixedBytes+bytesPerInputByte*(len(format)+len(data))))
		}
	})
}

// TestDecodeMeasuresMemory exceeds the bound.
func TestDecodeMeasuresMemory(t *testing.T) {
	e, c := newTestEngine(t)
	spent := decode(t, e, c, "local t = {} for i = 1, 5 do t[i] = string.rep('x', 5e6) .. i end return 1")
	require.Greater(t, spent, uint64(fixedBytes))
}
