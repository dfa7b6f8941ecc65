package scripting

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// plainFunctions are the library functions of plain scripts, by the names that
// the parser bound them to, sorted. What they compute stands in lib_*.go.
var plainFunctions = func() []plainFunction {
	all := []plainFunction{
		{name: hiddenConcat, op: plainConcat},
		{name: hiddenMod, op: plainMod, arity: 2},
		{name: hiddenLen, op: plainNop, call: plainLength},
		{name: hiddenNone, open: true, call: func(*plainFrame, int, []plainValue) {}},
		{name: hiddenForInit, op: plainForOperand, arity: 1, number: 0},
		{name: hiddenForLimit, op: plainForOperand, arity: 1, number: 1},
		{name: hiddenForStep, op: plainForOperand, arity: 1, number: 2},
		{name: "ipairs", op: plainIterate, number: 0},
		{name: "pairs", op: plainIterate, number: 1},
		{name: "error", open: true, call: plainError},
		{name: "tonumber", op: plainToNumber, arity: 1, call: plainToNumberIn},
		{name: "tostring", op: plainToString, arity: 1, call: plainToStringOf},
		{name: "type", call: plainType},
		{name: "unpack", open: true, call: plainUnpack, ofKeys: &[2]*plainFunction{
			{name: "unpack", open: true, call: plainUnpackKeys}, {name: "unpack", open: true, call: plainUnpackArgs},
		}},
		{name: "math.max", call: plainMax},
		{name: "math.min", call: plainMin},
		{name: "string.len", call: plainStringLen},
		{name: "string.lower", call: plainLower},
		{name: "string.rep", call: plainRep},
		{name: "string.sub", call: plainSubstring},
		{name: "string.upper", call: plainUpper},
		{name: "table.getn", call: plainGetN},
		{name: "table.insert", open: true, call: plainInsert},
	}
	for _, lib := range []string{"redis", "server"} {
		all = append(
			all,
			plainFunction{name: lib + ".call", op: plainCommand},
			plainFunction{name: lib + ".pcall", op: plainCommand, number: 1},
			plainFunction{name: lib + ".error_reply", call: plainErrorReply},
			plainFunction{name: lib + ".status_reply", call: plainStatusReply},
			plainFunction{name: lib + ".sha1hex", call: plainSHA1},
			plainFunction{name: lib + ".replicate_commands", call: plainReplicateCommands},
			plainFunction{name: lib + ".log", open: true, call: plainLog},
		)
	}
	for i, m := range unaryMath {
		all = append(all, plainFunction{name: "math." + m.name, op: plainMath, arity: 1, number: int32(i), call: plainUnary(m.fn)})
	}
	for _, name := range slices.Sorted(maps.Keys(binaryMath)) {
		all = append(all, plainFunction{name: "math." + name, call: plainBinary(binaryMath[name])})
	}
	slices.SortFunc(all, func(a, b plainFunction) int { return strings.Compare(a.name, b.name) })
	return all
}()

// plainFunctionIndex returns the place of a function, -1 where there is none.
func plainFunctionIndex(name string) int32 {
	i, ok := slices.BinarySearchFunc(plainFunctions, name, func(f plainFunction, name string) int {
		return strings.Compare(f.name, name)
	})
	if !ok {
		return -1
	}
	return int32(i)
}

// plainLibraries are the constants in the tables of libraries.
var plainLibraries = map[string]map[string]plainValue{
	"math":   {"pi": plainNumber(math.Pi), "huge": plainNumber(math.Inf(1))},
	"redis":  plainRedisConstants(),
	"server": plainRedisConstants(),
}

func plainRedisConstants() map[string]plainValue {
	constants := map[string]plainValue{"REDIS_VERSION": plainString(redisVersion)}
	for name, n := range redisNumbers {
		constants[name] = plainNumber(float64(n))
	}
	return constants
}

// globalNames are all that exist, plain or not.
var globalNames = func() map[string]bool {
	names := map[string]bool{
		"_G": true, "_VERSION": true, "server": true, hiddenGlobals: true,
		hiddenConcat: true, hiddenNone: true, hiddenMod: true, hiddenLen: true,
		hiddenForInit: true, hiddenForLimit: true, hiddenForStep: true,
	}
	for name := range (&interp{}).baseLibrary() {
		names[name] = true
	}
	for lib := range libraries {
		names[lib] = true
	}
	for f := range libraryFunctions {
		names[f[0]+"."+f[1]] = true
	}
	return names
}()

func isGlobalName(name string) bool { return globalNames[name] }

// give adds results to those of the function that runs.
func (f *plainFrame) give(v ...plainValue) { f.results = append(f.results, v...) }

// The arguments of a function; each complains as the interpreter does.

func (f *plainFrame) wrongType(pc int, args []plainValue, n int, expected string) {
	got := "no value"
	if n <= len(args) {
		got = args[n-1].typeName()
	}
	f.argumentError(pc, n, expected+" expected, got "+got)
}

func (f *plainFrame) anyArgument(pc int, args []plainValue, n int) bool {
	if n > len(args) {
		f.argumentError(pc, n, "value expected")
	}
	return !f.failed
}

func (f *plainFrame) numberArgument(pc int, args []plainValue, n int) (float64, bool) {
	if n <= len(args) {
		if x, ok := args[n-1].asNumber(); ok {
			return x, true
		}
	}
	f.wrongType(pc, args, n, "number")
	return 0, false
}

// intArgument is otherwise where there is no such argument, or a nil.
func (f *plainFrame) intArgument(pc int, args []plainValue, n, otherwise int) (int, bool) {
	if n > len(args) || args[n-1].kind == lua.LTNil {
		return otherwise, true
	}
	x, ok := f.numberArgument(pc, args, n)
	return toInt(x), ok
}

// textArgument is the first argument, the only place where functions here
// take strings.
func (f *plainFrame) textArgument(pc int, args []plainValue) (string, bool) {
	if len(args) > 0 {
		if s, ok := f.asText(&args[0]); ok {
			return s, true
		}
	}
	f.wrongType(pc, args, 1, "string")
	return "", false
}

func (f *plainFrame) tableArgument(pc int, args []plainValue) *plainTable {
	if len(args) > 0 && args[0].kind == lua.LTTable {
		return args[0].table()
	}
	f.wrongType(pc, args, 1, "table")
	return nil
}

// toString spells any value.
func (f *plainFrame) toString(v *plainValue) plainValue {
	switch v.kind {
	case lua.LTNil:
		return plainString("nil")
	case lua.LTBool:
		return plainString(lua.LBool(v.bits != 0).String())
	case lua.LTNumber:
		return f.spelled(v.number())
	case lua.LTString:
		return *v
	}
	return f.copied(fmt.Sprintf("table: %p", v.table()))
}

func plainToStringOf(f *plainFrame, pc int, args []plainValue) {
	if f.anyArgument(pc, args, 1) {
		f.give(f.toString(&args[0]))
	}
}

func plainToNumberIn(f *plainFrame, pc int, args []plainValue) {
	if len(args) == 1 && args[0].kind == lua.LTNumber {
		f.give(args[0])
		return
	}
	base, ok := f.intArgument(pc, args, 2, 10)
	if !ok {
		return
	}
	var n float64
	if base == 10 {
		if !f.anyArgument(pc, args, 1) {
			return
		}
		n, ok = args[0].asNumber()
	} else {
		s, isText := f.textArgument(pc, args)
		if !isText {
			return
		}
		if base < 2 || base > 36 {
			f.argumentError(pc, 2, "base out of range")
			return
		}
		n, ok = parseBase(s, base)
	}
	if ok {
		f.give(plainNumber(n))
	} else {
		f.give(plainNil)
	}
}

func plainType(f *plainFrame, pc int, args []plainValue) {
	if f.anyArgument(pc, args, 1) {
		f.give(plainString(args[0].typeName()))
	}
}

func plainLength(f *plainFrame, pc int, args []plainValue) {
	switch v := &args[0]; v.kind {
	case lua.LTString:
		f.give(plainNumber(float64(len(v.text()))))
	case lua.LTTable:
		f.give(plainNumber(float64(v.table().length())))
	default:
		f.raise(int32(pc), "attempt to get length of "+describeArgument(f.program.proto, pc, 1, v.typeName()))
	}
}

// plainError raises its argument; a text gets its position in front.
func plainError(f *plainFrame, pc int, args []plainValue) {
	level, ok := f.intArgument(pc, args, 2, 1)
	if !ok {
		return
	}
	value := plainNil
	if len(args) > 0 {
		value = args[0]
	}
	text, isText := f.asText(&value)
	switch {
	case value.kind == lua.LTTable:
		problem := "ERR unknown error"
		field := value.table().field("err")
		if s, ok := f.asText(&field); ok {
			problem = strings.Clone(s)
		}
		f.fail(int32(pc), problem)
	case isText && level == 1:
		f.raise(int32(pc), text)
	default: // above the main function, no position is known
		s := f.toString(&value)
		f.fail(int32(pc), "ERR "+s.text())
	}
}

func plainUnary(fn func(float64) float64) func(f *plainFrame, pc int, args []plainValue) {
	return func(f *plainFrame, pc int, args []plainValue) {
		if x, ok := f.numberArgument(pc, args, 1); ok {
			f.give(plainNumber(fn(x)))
		}
	}
}

func plainBinary(fn func(x, y float64) float64) func(f *plainFrame, pc int, args []plainValue) {
	return func(f *plainFrame, pc int, args []plainValue) {
		y, ok := f.numberArgument(pc, args, 2)
		if !ok {
			return
		}
		if x, ok := f.numberArgument(pc, args, 1); ok {
			f.give(plainNumber(fn(x, y)))
		}
	}
}

func plainMax(f *plainFrame, pc int, args []plainValue) {
	f.extreme(pc, args, func(x, best float64) bool { return x > best })
}

func plainMin(f *plainFrame, pc int, args []plainValue) {
	f.extreme(pc, args, func(x, best float64) bool { return x < best })
}

func (f *plainFrame) extreme(pc int, args []plainValue, better func(x, best float64) bool) {
	best, ok := f.numberArgument(pc, args, 1)
	for n := 2; ok && n <= len(args); n++ {
		var x float64
		if x, ok = f.numberArgument(pc, args, n); ok && better(x, best) {
			best = x
		}
	}
	if ok {
		f.give(plainNumber(best))
	}
}

func plainStringLen(f *plainFrame, pc int, args []plainValue) {
	if s, ok := f.textArgument(pc, args); ok {
		f.give(plainNumber(float64(len(s))))
	}
}

func plainLower(f *plainFrame, pc int, args []plainValue) { f.mapped(pc, args, 'A', 'Z') }
func plainUpper(f *plainFrame, pc int, args []plainValue) { f.mapped(pc, args, 'a', 'z') }

func (f *plainFrame) mapped(pc int, args []plainValue, from, to byte) {
	if s, ok := f.textArgument(pc, args); ok {
		f.give(plainBytes(mapBytes(append(f.room(len(s)), s...), from, to)))
	}
}

func plainRep(f *plainFrame, pc int, args []plainValue) {
	s, ok := f.textArgument(pc, args)
	if !ok {
		return
	}
	times, ok := f.numberArgument(pc, args, 2)
	if !ok {
		return
	}
	n := max(toInt(times), 0)
	if len(s) > 0 && n > maxStringLen/len(s) {
		f.fail(int32(pc), "ERR "+errNoMemory)
		return
	}
	if len(s) == 0 {
		n = 0
	}
	b := f.room(n * len(s))
	for range n {
		if f.failed {
			return
		}
		b = append(b, s...)
	}
	f.give(plainBytes(b))
}

func plainSubstring(f *plainFrame, pc int, args []plainValue) {
	s, ok := f.textArgument(pc, args)
	if !ok {
		return
	}
	from, ok := f.numberArgument(pc, args, 2)
	if !ok {
		return
	}
	if to, ok := f.intArgument(pc, args, 3, -1); ok {
		start, end := span(s, toInt(from), to)
		f.give(plainString(s[start:end]))
	}
}

func plainUnpack(f *plainFrame, pc int, args []plainValue) {
	if t := f.tableArgument(pc, args); t != nil {
		f.unpack(pc, args, t.length(), t.at)
	}
}

func plainUnpackKeys(f *plainFrame, pc int, args []plainValue) {
	f.unpack(pc, args, len(f.keys), func(n int) plainValue { return element(f.keys, n) })
}

func plainUnpackArgs(f *plainFrame, pc int, args []plainValue) {
	f.unpack(pc, args, len(f.args), func(n int) plainValue { return element(f.args, n) })
}

func (f *plainFrame) unpack(pc int, args []plainValue, length int, at func(n int) plainValue) {
	from, ok := f.intArgument(pc, args, 2, 1)
	if !ok {
		return
	}
	to, ok := f.intArgument(pc, args, 3, length)
	if !ok || from > to {
		return
	}
	if to-from+1+len(args) > maxCStack {
		f.raise(int32(pc), "too many results to unpack")
		return
	}
	f.built((to - from + 1) * plainValueSize)
	for n := from; n <= to && !f.failed; n++ {
		f.give(at(n))
	}
}

func plainGetN(f *plainFrame, pc int, args []plainValue) {
	if t := f.tableArgument(pc, args); t != nil {
		f.give(plainNumber(float64(t.length())))
	}
}

func plainInsert(f *plainFrame, pc int, args []plainValue) {
	t := f.tableArgument(pc, args)
	if t == nil {
		return
	}
	last := t.length() + 1
	place := last
	switch len(args) {
	case 2:
	case 3:
		x, ok := f.numberArgument(pc, args, 2)
		if !ok {
			return
		}
		place = toInt(x)
	default:
		f.raise(int32(pc), "wrong number of arguments to 'insert'")
		return
	}
	f.extend(t, max(last, place))
	if !f.failed && !f.meter.steps(max(last-place, 0)) {
		f.fail(int32(pc), "ERR "+f.meter.why)
	}
	for n := max(last, place); n > place && !f.failed; n-- {
		below := plainNumber(float64(n - 1))
		t.set(plainNumber(float64(n)), t.get(&below))
	}
	if !f.failed {
		t.set(plainNumber(float64(place)), args[len(args)-1])
	}
}

// onlyText takes one string argument, or gives an error object.
func (f *plainFrame) onlyText(args []plainValue) (string, bool) {
	if len(args) != 1 || args[0].kind != lua.LTString {
		f.give(f.errorObject(errOneString))
		return "", false
	}
	return args[0].text(), true
}

func plainErrorReply(f *plainFrame, _ int, args []plainValue) {
	s, ok := f.onlyText(args)
	switch {
	case !ok:
	case f.engine.goesBare(s):
		f.give(f.single("err", args[0]))
	default:
		f.give(f.errorObject(s))
	}
}

func plainStatusReply(f *plainFrame, _ int, args []plainValue) {
	if _, ok := f.onlyText(args); ok {
		f.give(f.single("ok", args[0]))
	}
}

// single makes a table of one field.
func (f *plainFrame) single(key string, v plainValue) plainValue {
	t := f.newTable()
	t.set(plainString(key), v)
	return plainTableValue(t)
}

func plainSHA1(f *plainFrame, pc int, args []plainValue) {
	if len(args) != 1 {
		f.fail(int32(pc), errSHA1Arguments)
		return
	}
	s, _ := f.asText(&args[0])
	sum := sha1.Sum([]byte(s))
	f.give(plainBytes(hex.AppendEncode(f.room(2*sha1.Size), sum[:])))
}

func plainReplicateCommands(f *plainFrame, _ int, _ []plainValue) { f.give(plainBool(true)) }

func plainLog(f *plainFrame, pc int, args []plainValue) {
	if len(args) < 2 {
		f.fail(int32(pc), errLogArguments)
		return
	}
	if args[0].kind != lua.LTNumber {
		f.fail(int32(pc), errLogLevelType)
		return
	}
	level := args[0].number()
	if level < 0 || level >= 4 {
		f.fail(int32(pc), errLogLevel)
		return
	}
	var words []string
	for i := range args[1:] {
		if s, ok := f.asText(&args[1+i]); ok {
			words = append(words, strings.Clone(s))
		}
	}
	if f.engine.options.Log != nil {
		f.engine.options.Log(int(level), strings.Join(words, " "))
	}
}
