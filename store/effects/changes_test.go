package effects

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// changesOf returns the recorded changes of a group, one line each.
func changesOf(g *Group) string {
	words := map[Kind]string{
		Changed: "changed", Deleted: "deleted", Moved: "moved", Replaced: "replaced", Expired: "expired",
		Flushed: "flushed", Swapped: "swapped", EventOnly: "noted",
	}
	var lines []string
	changes := g.Changes()
	for i := range changes {
		c := &changes[i]
		switch c.Kind {
		case Flushed:
			lines = append(lines, fmt.Sprint(words[c.Kind], " ", c.DB))
		case Swapped:
			lines = append(lines, fmt.Sprint(words[c.Kind], " ", c.DB, " ", c.Other))
		default:
			line := fmt.Sprintf("%s %d %s: %s", words[c.Kind], c.DB, g.Key(c), c.Event.Name)
			lines = append(lines, strings.TrimSuffix(line, ": "))
		}
	}
	return strings.Join(lines, "\n")
}

// Changes are recorded in order, if wanted, and the log does not depend on that.
func TestChanges(t *testing.T) {
	const (
		changes = "changed 0 a\nexpired 3 b: expired\ndeleted 0 a: del\nmoved 0 \n" +
			"changed 1 c\nflushed 2\nswapped 3 4"
		log = "MULTI\nSELECT 3\nDEL b\nSELECT 0\ncmd x\nEXEC"
	)
	for name, c := range map[string]struct {
		wanted       Flags
		changes, log string
	}{
		"log":     {Logged, "", log},
		"changes": {Tracked, changes, ""},
		"both":    {Logged | Tracked, changes, log},
		"nothing": {0, "", ""},
	} {
		var g Group
		g.Want(c.wanted)
		for range 2 {
			m := g.Enter(Event{})
			g.ChangedKey(Changed, 0, "a")
			g.Expired(3, "b")
			g.ChangedKey(Deleted, 0, "a")
			g.ChangedKey(Moved, 0, "")
			g.ChangedKey(Changed, 1, "c")
			g.ChangedDB(Flushed, 2, 2)
			g.ChangedDB(Swapped, 3, 4)
			g.Leave(m, 0, args("cmd x"))
			require.Equal(t, c.changes, changesOf(&g), name)
			text, _ := logText(&g, 0)
			require.Equal(t, strings.Replace(c.log, "MULTI\nSELECT 3", "SELECT 3\nMULTI", 1), text, name)
			g.Reset()
			require.Empty(t, g.Changes(), name)
		}
	}
}

// Only wanted events are recorded, with the command's last event.
func TestEvents(t *testing.T) {
	for wanted, want := range map[Flags]string{
		0:                   "",
		Logged:              "",
		Strings:             "changed 0 a: set",
		Lists:               "changed 0 b: lpush",
		Generic:             "deleted 0 a: del\nnoted 1 e: expire",
		Expiries:            "expired 0 c: expired",
		Misses:              "noted 0 m: keymiss",
		NewKeys:             "noted 0 n: new",
		Sets | Hashes:       "",
		Strings | Evictions: "changed 0 a: set",
		Tracked: "changed 0 a: set\nchanged 0 b: lpush\ndeleted 0 a: del\nreplaced 0 r\n" +
			"expired 0 c: expired\nchanged 0 d",
	} {
		var g Group
		g.Want(wanted)
		outer := g.Enter(Event{})
		inner := g.Enter(Event{"set", Strings})
		g.ChangedKey(Changed, 0, "a")
		g.SetEvent(Event{"lpush", Lists})
		g.ChangedKey(Changed, 0, "b")
		g.ChangedKey(Deleted, 0, "a")
		g.ChangedKey(Replaced, 0, "r")
		g.Expired(0, "c")
		g.Missed(0, []byte("m"))
		g.Created(0, "n")
		g.Note(1, Event{"expire", Generic}, []byte("e"))
		require.False(t, g.LacksEvent())
		g.Leave(inner, 0, nil)
		require.Equal(t, wanted&Events != 0, g.LacksEvent())
		g.ChangedKey(Changed, 0, "d")
		g.Leave(outer, 0, nil)
		require.Equal(t, want, changesOf(&g), "%b", wanted)
	}
}

func TestChangesDoNotAllocate(t *testing.T) {
	var g Group
	run := func() {
		g.Want(Logged | Tracked | Events)
		m := g.Enter(Event{"set", Strings})
		g.Created(0, "key")
		g.ChangedKey(Changed, 0, "key")
		g.Note(0, Del, []byte("key"))
		g.Expired(2, "another")
		g.ChangedDB(Flushed, 1, 1)
		g.Leave(m, 0, nil)
		g.Reset()
	}
	run()
	require.Zero(t, testing.AllocsPerRun(100, run))
}

// Memory that one huge command needed must be released.
func TestResetReleasesChanges(t *testing.T) {
	var g Group
	g.Want(Tracked)
	for range maxRetained {
		g.ChangedKey(Changed, 0, "key")
	}
	g.Reset()
	require.LessOrEqual(t, cap(g.keys), maxRetained)
	require.LessOrEqual(t, cap(g.changes), maxRetained/64)
	g.ChangedKey(Changed, 0, "k")
	require.Equal(t, "changed 0 k", changesOf(&g), "Reset keeps the flags")
}
