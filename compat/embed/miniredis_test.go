package embed_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	theirs "github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	ours "github.com/zlimit/zlimit/zlimittest/miniredis"
)

// direct has the methods that both types must have.
type direct interface {
	Select(i int)
	Keys() []string
	FlushAll()
	FlushDB()
	SwapDB(i, j int) bool
	Exists(k string) bool
	Type(k string) string
	Del(k string) bool
	Unlink(k string) bool
	TTL(k string) time.Duration
	SetTTL(k string, ttl time.Duration)
	FastForward(d time.Duration)
	SetTime(t time.Time)
	Get(k string) (string, error)
	Set(k, v string) error
	Incr(k string, delta int) (int, error)
	Incrfloat(k string, delta float64) (float64, error)
	IncrByFloat(k string, delta float64) (float64, error)
	ZAdd(k string, score float64, member string) (bool, error)
	ZMembers(k string) ([]string, error)
	SortedSet(k string) (map[string]float64, error)
	ZScore(k, member string) (float64, error)
	ZRem(k, member string) (bool, error)
	HSet(k string, fv ...string)
	HGet(k, f string) string
	HKeys(k string) ([]string, error)
	HDel(k, f string)
	HIncr(k, f string, delta int) (int, error)
	HIncrBy(k, f string, delta int) (int, error)
	HIncrfloat(k, f string, delta float64) (float64, error)
	HIncrByFloat(k, f string, delta float64) (float64, error)
	List(k string) ([]string, error)
	Push(k string, v ...string) (int, error)
	RPush(k string, v ...string) (int, error)
	Lpush(k, v string) (int, error)
	Pop(k string) (string, error)
	RPop(k string) (string, error)
	Lpop(k string) (string, error)
	SetAdd(k string, elems ...string) (int, error)
	SAdd(k string, elems ...string) (int, error)
	Members(k string) ([]string, error)
	SMembers(k string) ([]string, error)
	IsMember(k, v string) (bool, error)
	SIsMember(k, v string) (bool, error)
	SRem(k string, elems ...string) (int, error)
	SCard(k string) (int, error)
	Dump() string
	Start() error
	StartAddr(addr string) error
	Restart() error
	Close()
	Addr() string
	Host() string
	Port() string
	RequireAuth(pw string)
	SetError(msg string)
	CommandCount() int
	CurrentConnectionCount() int
}

var (
	_ direct = (*theirs.Miniredis)(nil)
	_ direct = (*ours.Miniredis)(nil)
)

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
	skip := map[string]bool{ // not a call on a key, or tested elsewhere
		"Start": true, "StartAddr": true, "Restart": true, "Close": true,
		"Addr": true, "Host": true, "Port": true, "SetTime": true, "RequireAuth": true, "SetError": true,
		"CommandCount": true, "CurrentConnectionCount": true, "Select": true, "SwapDB": true,
	}
	methods := reflect.TypeFor[direct]()
	for i := range methods.NumMethod() {
		method := methods.Method(i)
		if skip[method.Name] {
			continue
		}
		// In miniredis, SetTTL of a key that does not exist leaves a TTL.
		for _, key := range []string{"string", "zset", "list", "set", "hash", "nosuch"} {
			if method.Name == "SetTTL" && key == "nosuch" {
				continue
			}
			for _, member := range []string{"a", "f", "m", "12", "1"} {
				t.Run(fmt.Sprint(method.Name, " ", key, " ", member), func(t *testing.T) {
					require.Equal(t, result(theirs.NewMiniRedis(), method, key, member),
						result(ours.NewMiniRedis(), method, key, member))
				})
				if !takesMember(method.Type) {
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
func result(m direct, method reflect.Method, key, member string) string {
	defer m.Close()
	values(m)
	f := method.Type
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
	for _, v := range reflect.ValueOf(m).MethodByName(method.Name).Call(args) {
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

// TestEveryNameIsTheirs checks that miniredis has every method of ours.
func TestEveryNameIsTheirs(t *testing.T) {
	mine, other := reflect.TypeFor[*ours.Miniredis](), reflect.TypeFor[*theirs.Miniredis]()
	for i := range mine.NumMethod() {
		_, ok := other.MethodByName(mine.Method(i).Name)
		require.True(t, ok, mine.Method(i).Name)
	}
}
