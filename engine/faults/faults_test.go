package faults_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/faults"
)

// rows are the commands that the tests know.
var rows = map[string]*commands.Command{
	"get":     {Name: "get"},
	"set":     {Name: "set", Flags: commands.Write | commands.DenyOOM},
	"eval":    {Name: "eval"},
	"evalsha": {Name: "evalsha"},
	"info":    {Name: "info", Flags: commands.Loading},
	"hello":   {Name: "hello", Flags: commands.Loading},
	"debug":   {Name: "debug"},
}

// affected returns the names of the rows that a fault affects, and "unknown" if it affects
// unknown commands.
func affected(f faults.Fault) []string {
	var out []string
	for _, name := range []string{"get", "set", "eval", "evalsha", "info", "hello", "debug", "unknown"} {
		var s faults.Set
		s.Inject(f)
		if s.Next(rows[name]) != nil {
			out = append(out, name)
		}
	}
	return out
}

// TestAffected checks which commands each kind concerns.
func TestAffected(t *testing.T) {
	all := "get set eval evalsha info unknown"
	for _, c := range []struct {
		fault faults.Fault
		want  string
	}{
		{faults.Fault{}, all},
		{faults.Fault{Kind: faults.Close}, all},
		{faults.Fault{Kind: faults.DropReply}, all},
		{faults.Fault{Kind: faults.Mute}, all},
		{faults.Fault{Kind: faults.NoScript}, "evalsha"},
		{faults.Fault{Kind: faults.Loading}, "get set eval evalsha"},
		{faults.Fault{Kind: faults.OutOfMemory}, "set eval evalsha"},
		{faults.Fault{Kind: faults.ReadOnly}, "set eval evalsha"},
		{faults.Fault{Kind: faults.Refuse, Text: "ERR"}, all},
		{faults.Fault{Kind: faults.Loading, On: "INFO"}, "info"},
		{faults.Fault{Kind: faults.Close, On: "*"}, "get set eval evalsha info hello unknown"},
		{faults.Fault{Kind: faults.Close, On: "DEBUG"}, ""},
	} {
		require.Equal(t, c.want, strings.Join(affected(c.fault), " "), "%+v", c.fault)
	}
}

// TestCounts checks the order of faults, how often each applies, and that a set forgets only
// faults that are over.
func TestCounts(t *testing.T) {
	var s faults.Set
	require.False(t, s.Any())
	first := s.Inject(faults.Fault{Kind: faults.Close, Times: 2})
	second := s.Inject(faults.Fault{Kind: faults.Mute, Times: faults.Always})
	for _, want := range []*faults.Injected{first, first, second, second} {
		require.Same(t, want, s.Next(rows["get"]))
	}
	<-first.Met()
	require.Equal(t, []int{2, 2}, []int{first.Hits(), second.Hits()})
	require.True(t, s.Any())
	second.Remove()
	second.Remove()
	require.False(t, s.Any())
	require.Nil(t, s.Next(rows["get"]))

	for range 1500 {
		require.NotNil(t, s.Inject(faults.Fault{}))
		require.NotNil(t, s.Next(rows["get"]))
	}
	require.False(t, s.Any())
	held := s.Inject(faults.Fault{UntilRemoved: true})
	require.Same(t, held, s.Next(rows["get"]))
	n := 0
	for s.Inject(faults.Fault{}) != nil {
		n++
	}
	require.Equal(t, 999, n, "beside the one that is over, and for whose removal a command waits")
	select {
	case <-held.Until():
		t.Fatal("released before the fault was removed")
	default:
	}
	s.Clear()
	<-held.Until()
	held.Remove()
	require.False(t, s.Any())
	require.Equal(t, 2, first.Hits())
}
