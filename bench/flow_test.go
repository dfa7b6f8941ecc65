package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAssembleAndFill(t *testing.T) {
	f := flow{
		{[]string{"GET {key}"}, nil},
		{[]string{"X {now} {cut} {limit} {window} {seconds} {key}"}, nil},
		{[]string{"Y {{key}}:tokens {id}"}, nil},
	}
	q := quota{limit: 7, windowMs: 60_000}
	b := assemble(f, 2, q)
	at := new(instant)
	at.set(1_700_000_000_123, q.windowMs)
	b.fill(&picker{keys: 2, inOrder: true, perGeneration: 1}, at)
	require.Len(t, b.steps, 3)
	require.Equal(t,
		"*2\r\n$3\r\nGET\r\n$16\r\nrl:00000:0000000\r\n"+
			"*2\r\n$3\r\nGET\r\n$16\r\nrl:00001:0000001\r\n",
		string(b.steps[0].buf))
	second := func(key string) string {
		return "*7\r\n$1\r\nX\r\n$13\r\n1700000000123\r\n$13\r\n1699999940123\r\n$1\r\n7\r\n$5\r\n60000\r\n" +
			"$2\r\n60\r\n$16\r\n" + key + "\r\n"
	}
	require.Equal(t, second("rl:00000:0000000")+second("rl:00001:0000001"), string(b.steps[1].buf))

	third := func(key, id string) string {
		return "*3\r\n$1\r\nY\r\n$25\r\n{" + key + "}:tokens\r\n$13\r\n" + id + "\r\n"
	}
	require.Equal(t, third("rl:00000:0000000", "0000000000001")+third("rl:00001:0000001", "0000000000002"),
		string(b.steps[2].buf))

	at.set(1_700_000_000_124, q.windowMs)
	b.fill(&picker{only: probeKey}, at)
	require.Contains(t, string(b.steps[1].buf), "1700000000124")
	require.Contains(t, string(b.steps[1].buf), "rl:00000:9999999")
}

func TestPicker(t *testing.T) {
	const keys, draws = 100, 100_000
	p, again := uniform(keys, 25_000), uniform(keys, 25_000)
	var seen [keys]int
	var generations [4]int
	for range draws {
		generation, number := p.next()
		g, n := again.next()
		require.Equal(t, [2]uint64{generation, number}, [2]uint64{g, n}, "both servers get the same keys")
		seen[number]++
		generations[generation]++
	}
	for number, n := range seen {
		require.InDelta(t, draws/keys, n, 200, "key %d", number)
	}
	require.Equal(t, [4]int{25_000, 25_000, 25_000, 25_000}, generations)
}
