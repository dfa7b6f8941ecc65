package scripting

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
)

// differences compares the fields of a view with the first fields of the
// original: name, unless it is blank, offset and size.
func differences(view, original reflect.Type) (out []string) {
	for i := range view.NumField() {
		if i >= original.NumField() {
			return append(out, fmt.Sprintf("field %d is not there", i))
		}
		v, o := view.Field(i), original.Field(i)
		if v.Name != "_" && !strings.EqualFold(v.Name, o.Name) ||
			v.Offset != o.Offset || v.Type.Size() != o.Type.Size() ||
			v.Type.Kind() != o.Type.Kind() && o.Type.Kind() != reflect.Pointer {
			out = append(out, fmt.Sprintf("field %d is %s %s, not %s %s", i, o.Name, o.Type, v.Name, v.Type))
		}
	}
	return out
}

func TestViews(t *testing.T) {
	state := reflect.TypeFor[lua.LState]()
	field := func(name string) reflect.Type {
		f, ok := state.FieldByName(name)
		require.True(t, ok)
		return f.Type.Elem()
	}
	require.Empty(t, differences(reflect.TypeFor[frameView](), field("currentFrame")))
	require.Empty(t, differences(reflect.TypeFor[registryView](), field("reg")))
	require.Empty(t, differences(reflect.TypeFor[tableView](), reflect.TypeFor[lua.LTable]()))
}

func TestViewsCanDiffer(t *testing.T) {
	type other struct {
		idx int32
		fn  *lua.LFunction
	}
	o := other{idx: 1, fn: nil}
	view, size := reflect.TypeFor[frameView](), reflect.TypeOf(o)
	require.Len(t, differences(size, view), 1, "a field of another size")
	require.Len(t, differences(view, size), 2, "and one that is missing")
}
