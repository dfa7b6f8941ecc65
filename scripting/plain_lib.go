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

// plainFunctions are the library functions of plain scripts, sorted by the
// names to which the parser binds them. They share their computations with
// lib_*.go.
var plainFunctions = func() []plainFunction {
	all := []plainFunction{
		{name: hiddenConcat, op: plainConcat},
		{name: hiddenMod, op: plainMod, arity: 2},
		{name: hiddenLen, op: plainNop, call: plainLength},
		{name: hiddenNone, variableResults: true, call: func(*plainFrame, int, []plainValue) {}},
		{name: hiddenForInit, op: plainForOperand, arity: 1, number: 0},
		{name: hiddenForLimit, op: plainForOperand, arity: 1, number: 1},
		{name: hiddenForStep, op: plainForOperand, arity: 1, number: 2},
		{name: "ipairs", op: plainIterate, number: 0},
		{name: "pairs", op: plainIterate, number: 1},
		{name: "error", variableResults: true, call: plainError},
		{name: "tonumber", op: plainToNumber, arity: 1, call: callToNumber},
		{name: "tostring", op: plainToString, arity: 1, call: callToString},
		{name: "type", call: plainType},
		{name: "unpack", variableResults: true, call: plainUnpack, ofKeys: &[2]*plainFunction{
			{name: "unpack", variableResults: true, call: plainUnpackKeys},
			{name: "unpack", variableResults: true, call: plainUnpackArgs},
		}},
		{name: "math.max", call: plainMax},
		{name: "math.min", call: plainMin},
		{name: "string.len", call: plainStringLen},
		{name: "string.lower", call: plainLower},
		{name: "string.rep", call: plainRep},
		{name: "string.sub", call: plainSubstring},
		{name: "string.upper", call: plainUpper},
		{name: "table.getn", call: plainGetN},
		{name: "table.insert", variableResults: true, call: plainInsert},
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
			plainFunction{name: lib + ".log", variableResults: true, call: plainLog},
		)
	}
	for i, m := range unaryMath {
		all = append(all, plainFunction{
			name: "math." + m.name, op: plainMath, arity: 1, number: int32(i), call: plainUnary(m.fn),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(binaryMath)) {
		all = append(all, plainFunction{name: "math." + name, call: plainBinary(binaryMath[name])})
	}
	slices.SortFunc(all, func(a, b plainFunction) int { return strings.Compare(a.name, b.name) })
	return all
}()

func plainFunctionIndex(name string) int32 {
	i, ok := slices.BinarySearchFunc(plainFunctions, name, func(f plainFunction, name string) int {
		return strings.Compare(f.name, name)
	})
	if !ok {
		return -1
	}
	return int32(i)
}

// plainLibraries are the constants in the library tables.
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

// globalNames are all globals, available to plain scripts or not.
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

// pushResults appends results of the running function.
func (f *plainFrame) pushResults(v ...plainValue) { f.results = append(f.results, v...) }

// The accessors for a function's arguments raise the same errors as the
// interpreter's.

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

// intArgument returns otherwise if the argument is missing or nil.
func (f *plainFrame) intArgument(pc int, args []plainValue, n, otherwise int) (int, bool) {
	if n > len(args) || args[n-1].kind == lua.LTNil {
		return otherwise, true
	}
	x, ok := f.numberArgument(pc, args, n)
	return toInt(x), ok
}

// textArgument returns the first argument, the only one that is ever a string.
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

func (f *plainFrame) toString(v *plainValue) plainValue {
	switch v.kind {
	case lua.LTNil:
		return plainString("nil")
	case lua.LTBool:
		return plainString(lua.LBool(v.bits != 0).String())
	case lua.LTNumber:
		return f.numberText(v.number())
	case lua.LTString:
		return *v
	}
	return f.copyString(fmt.Sprintf("table: %p", v.table()))
}

func callToString(f *plainFrame, pc int, args []plainValue) {
	if f.anyArgument(pc, args, 1) {
		f.pushResults(f.toString(&args[0]))
	}
}

func callToNumber(f *plainFrame, pc int, args []plainValue) {
	if len(args) == 1 && args[0].kind == lua.LTNumber {
		f.pushResults(args[0])
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
		f.pushResults(plainNumber(n))
	} else {
		f.pushResults(plainNil)
	}
}

func plainType(f *plainFrame, pc int, args []plainValue) {
	if f.anyArgument(pc, args, 1) {
		f.pushResults(plainString(args[0].typeName()))
	}
}

func plainLength(f *plainFrame, pc int, args []plainValue) {
	switch v := &args[0]; v.kind {
	case lua.LTString:
		f.pushResults(plainNumber(float64(len(v.text()))))
	case lua.LTTable:
		f.pushResults(plainNumber(float64(v.table().length())))
	default:
		f.raise(int32(pc), "attempt to get length of "+describeArgument(f.program.proto, pc, 1, v.typeName()))
	}
}

// plainError raises its argument, with the position in front of a text.
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
	default: // the level is above the main function, whose position is unknown
		s := f.toString(&value)
		f.fail(int32(pc), "ERR "+s.text())
	}
}

func plainUnary(fn func(float64) float64) func(f *plainFrame, pc int, args []plainValue) {
	return func(f *plainFrame, pc int, args []plainValue) {
		if x, ok := f.numberArgument(pc, args, 1); ok {
			f.pushResults(plainNumber(fn(x)))
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
			f.pushResults(plainNumber(fn(x, y)))
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
		f.pushResults(plainNumber(best))
	}
}

func plainStringLen(f *plainFrame, pc int, args []plainValue) {
	if s, ok := f.textArgument(pc, args); ok {
		f.pushResults(plainNumber(float64(len(s))))
	}
}

func plainLower(f *plainFrame, pc int, args []plainValue) { f.changeCase(pc, args, 'A', 'Z') }
func plainUpper(f *plainFrame, pc int, args []plainValue) { f.changeCase(pc, args, 'a', 'z') }

func (f *plainFrame) changeCase(pc int, args []plainValue, from, to byte) {
	if s, ok := f.textArgument(pc, args); ok {
		f.pushResults(plainBytes(mapBytes(append(f.alloc(len(s)), s...), from, to)))
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
	b := f.alloc(n * len(s))
	for range n {
		if f.failed {
			return
		}
		b = append(b, s...)
	}
	f.pushResults(plainBytes(b))
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
		start, end := substringRange(s, toInt(from), to)
		f.pushResults(plainString(s[start:end]))
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
	f.grow((to - from + 1) * plainValueSize)
	for n := from; n <= to && !f.failed; n++ {
		f.pushResults(at(n))
	}
}

func plainGetN(f *plainFrame, pc int, args []plainValue) {
	if t := f.tableArgument(pc, args); t != nil {
		f.pushResults(plainNumber(float64(t.length())))
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
	f.reserveArray(t, max(last, place))
	if !f.failed && !f.meter.steps(max(last-place, 0)) {
		f.fail(int32(pc), "ERR "+f.meter.errText)
	}
	for n := max(last, place); n > place && !f.failed; n-- {
		below := plainNumber(float64(n - 1))
		t.set(plainNumber(float64(n)), t.get(&below))
	}
	if !f.failed {
		t.set(plainNumber(float64(place)), args[len(args)-1])
	}
}

// onlyText returns the single string argument, or pushes an error object.
func (f *plainFrame) onlyText(args []plainValue) (string, bool) {
	if len(args) != 1 || args[0].kind != lua.LTString {
		f.pushResults(f.errorObject(errOneString))
		return "", false
	}
	return args[0].text(), true
}

func plainErrorReply(f *plainFrame, _ int, args []plainValue) {
	s, ok := f.onlyText(args)
	switch {
	case !ok:
	case f.engine.keepsErrorText(s):
		f.pushResults(f.singleField("err", args[0]))
	default:
		f.pushResults(f.errorObject(s))
	}
}

func plainStatusReply(f *plainFrame, _ int, args []plainValue) {
	if _, ok := f.onlyText(args); ok {
		f.pushResults(f.singleField("ok", args[0]))
	}
}

func (f *plainFrame) singleField(key string, v plainValue) plainValue {
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
	f.pushResults(plainBytes(hex.AppendEncode(f.alloc(2*sha1.Size), sum[:])))
}

func plainReplicateCommands(f *plainFrame, _ int, _ []plainValue) { f.pushResults(plainBool(true)) }

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
