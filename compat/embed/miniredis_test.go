package embed_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	theirs "github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	ours "github.com/zlimit/zlimit/zlimittest/miniredis"
)

// calls are the methods on keys that both types must have, and others the rest.
var (
	calls = strings.Fields(`
	Keys FlushAll FlushDB Exists Type Del Unlink TTL SetTTL FastForward Get Set Incr Incrfloat
	IncrByFloat ZAdd ZMembers SortedSet ZScore ZRem HSet HGet HKeys HDel HIncr HIncrBy HIncrfloat
	HIncrByFloat List Push RPush Lpush Pop RPop Lpop SetAdd SAdd Members SMembers IsMember SIsMember
	SRem SCard Dump`)
	others = strings.Fields(`
	Start StartAddr Restart Close Addr Host Port SetTime RequireAuth SetError CommandCount
	CurrentConnectionCount Select SwapDB`)
)

// direct has the methods that tests call by name.
type direct interface {
	Set(k, v string) error
	ZAdd(k string, score float64, member string) (bool, error)
	Push(k string, v ...string) (int, error)
	SetAdd(k string, elems ...string) (int, error)
	HSet(k string, fv ...string)
	SetTTL(k string, ttl time.Duration)
	TTL(k string) time.Duration
	Dump() string
	Close()
}

// method returns a method of m by its name.
func method(m direct, name string) reflect.Value { return reflect.ValueOf(m).MethodByName(name) }

// values makes keys of every type for the calls.
func values(m direct) {
	must := func(_ any, err error) {
		if err != nil {
			panic(err)
		}
	}
	must(nil, m.Set("string", "12"))
	must(m.ZAdd("zset", 2, "b"))
	must(m.ZAdd("zset", 1.5, "a"))
	must(m.Push("list", "x", "y", "z"))
	must(m.SetAdd("set", "m", "n"))
	m.HSet("hash", "f", "1", "g", "text")
	m.SetTTL("string", time.Minute)
}

// TestDirectCalls makes every call on every type of key, on both, and compares the results and the keyspaces.
func TestDirectCalls(t *testing.T) {
	for _, name := range calls {
		// In miniredis, SetTTL of a key that does not exist leaves a TTL.
		for _, key := range []string{"string", "zset", "list", "set", "hash", "nosuch"} {
			if name == "SetTTL" && key == "nosuch" {
				continue
			}
			for _, member := range []string{"a", "f", "m", "12", "1"} {
				t.Run(fmt.Sprint(name, " ", key, " ", member), func(t *testing.T) {
					require.Equal(t, result(theirs.NewMiniRedis(), name, key, member),
						result(ours.NewMiniRedis(), name, key, member))
				})
				if !takesMember(method(ours.NewMiniRedis(), name).Type()) {
					break
				}
			}
		}
	}
}

func takesMember(f reflect.Type) bool {
	strs := 0
	for i := range f.NumIn() {
		if f.In(i).Kind() == reflect.String || f.In(i).Kind() == reflect.Slice {
			strs++
		}
	}
	return strs > 1
}

// result calls a method on a fresh server and formats what it returns and the keyspace.
func result(m direct, name, key, member string) string {
	defer m.Close()
	values(m)
	f := method(m, name).Type()
	var args []reflect.Value
	strs := 0
	for i := range f.NumIn() {
		switch in := f.In(i); {
		case in == reflect.TypeFor[time.Duration]():
			args = append(args, reflect.ValueOf(time.Minute))
		case in.Kind() == reflect.String:
			args = append(args, reflect.ValueOf([]string{key, member}[min(strs, 1)]))
			strs++
		case in.Kind() == reflect.Slice:
			args = append(args, reflect.ValueOf(member), reflect.ValueOf("extra"))
		default: // int and float64
			args = append(args, reflect.ValueOf(3).Convert(in))
		}
	}
	var out []string
	for _, v := range method(m, name).Call(args) {
		out = append(out, show(v.Interface()))
	}
	return strings.Join(out, ", ") + "\n" + m.Dump() + show(m.TTL(key))
}

// show formats a result; errors by the names that tests use.
func show(v any) string {
	err, ok := v.(error)
	if !ok {
		if s, ok := v.([]string); ok && len(s) == 0 {
			return "[]"
		}
		return fmt.Sprintf("%#v", v)
	}
	for _, known := range []struct {
		name         string
		theirs, ours error
	}{
		{"ErrKeyNotFound", theirs.ErrKeyNotFound, ours.ErrKeyNotFound},
		{"ErrWrongType", theirs.ErrWrongType, ours.ErrWrongType},
		{"ErrIntValueError", theirs.ErrIntValueError, ours.ErrIntValueError},
		{"ErrFloatValueError", theirs.ErrFloatValueError, ours.ErrFloatValueError},
	} {
		if errors.Is(err, known.theirs) || errors.Is(err, known.ours) {
			return known.name
		}
	}
	return "another error"
}

// TestSameMethods checks that both types have the methods of the lists, of the same types, and that miniredis
// has every method of ours.
func TestSameMethods(t *testing.T) {
	mine, other := ours.NewMiniRedis(), theirs.NewMiniRedis()
	for _, name := range slices.Concat(calls, others) {
		require.True(t, method(mine, name).IsValid() && method(other, name).IsValid(), name)
		require.Equal(t, method(other, name).Type(), method(mine, name).Type(), name)
	}
	for i := range reflect.TypeOf(mine).NumMethod() {
		name := reflect.TypeOf(mine).Method(i).Name
		require.True(t, method(other, name).IsValid(), name)
	}
}
