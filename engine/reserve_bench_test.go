package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/zlimit/zlimit/engine"
)

// BenchmarkReserve makes and settles reservations of four terms of 10,000 callers, as the row reserve-4 of
// the bench does, without the wire: in batches of 16, on keys that the processor's cache does not hold.
func BenchmarkReserve(b *testing.B) {
	const callers, batch = 10_000, 16
	e, clock := newEngine(b)
	s := newSession(b, e)
	call := caller(b, s)
	reserves, settles := make([][][]byte, callers), make([][][]byte, callers)
	for i := range callers {
		keys := fmt.Sprintf("4 {rl:%d}:requests {rl:%[1]d}:tokens {rl:%[1]d}:money {rl:%[1]d}:jobs ",
			1_000_000+i)
		reserves[i] = args("RL.MRESERVE " + keys + "TERM 1000000 60000 COST 1 " +
			"TERM 1000000000 60000 COST 1500 TERM 1000000000000 2592000000 ALGO FIXED COST 40000 " +
			"TERM SLOTS 10 LEASE 30000 HOLD 1000 ID 1000000000000")
		settles[i] = args("RL.MSETTLE " + keys + "1000000000000 1 1450 39000 0")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var chosen [batch]int
	arrived := make([]engine.Arrived, batch)
	run := func(lines [][][]byte, id, calls int) { // id: the position of the hold's
		for i := range batch {
			line := lines[chosen[i]]
			strconv.AppendInt(line[id][:0], 1_000_000_000_000+int64(calls+i), 10)
			arrived[i].Len = copy(arrived[i].Args[:], line)
		}
		if e.ReadsAhead() {
			e.ReadAhead(0, arrived)
		}
		for i := range batch {
			call(lines[chosen[i]])
		}
	}
	b.ReportAllocs()
	n := 0
	step := func() {
		for i := range chosen {
			chosen[i] = random.IntN(callers)
		}
		run(reserves, 31, n)
		run(settles, 6, n)
		if n += batch; n%(40*batch) == 0 {
			clock.pass(20)
		}
		if n%(200*batch) == 0 {
			e.Tick()
		}
	}
	for range 20 * callers / batch {
		step()
	}
	for i := 0; b.Loop(); i++ {
		if i%batch == 0 {
			step()
		}
	}
}
