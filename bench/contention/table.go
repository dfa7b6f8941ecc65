package contention

import "fmt"

// calls are what is simulated. Their times are of one core, in process and over sockets, in
// nanoseconds, rounded from what the bench's --profile and its row cores say.
var calls = []struct {
	name          string
	outside, held float64
}{
	{"Allow, in process", 250, 350},
	{"INCR, in process", 200, 180},
	{"the script, in process", 450, 1450},
	{"RL.ALLOW, pipelined by 16", 700, 350},
	{"the script, pipelined by 16", 900, 1450},
}

// Assumed by the simulation: a line that another core wrote last, several of them a
// call; a parked goroutine's way back to a core.
const (
	transferNs = 100
	wakeNs     = 50_000
)

// Table returns what a number of cores gives, with titles in the first line: with 64 shards
// and 256, for waiters that spin as long as they do and for such that park at once, and for
// a key that gets a tenth of all calls.
func Table() [][]string {
	table := [][]string{{"call", "shards", "waiters", "keys", "2 cores", "8", "16", "64", "waiting at 64"}}
	for _, call := range calls {
		for _, variant := range []struct {
			shards        int
			spin, hottest float64
			waiters, keys string
		}{
			{64, 2000, 0, "spin", "alike"},
			{64, 100, 0, "park", "alike"},
			{256, 2000, 0, "spin", "alike"},
			{64, 2000, 0.1, "spin", "one hot"},
		} {
			line := []string{call.name, fmt.Sprint(variant.shards), variant.waiters, variant.keys}
			var last speed
			for _, n := range []int{2, 8, 16, 64} {
				last = load{
					cores: n, shards: variant.shards, outside: call.outside, held: call.held,
					transfer: transferNs, spin: variant.spin, wake: wakeNs, hottest: variant.hottest,
				}.simulate(200_000)
				line = append(line, fmt.Sprintf("%.1f", last.up))
			}
			table = append(table, append(line, fmt.Sprintf("%.0f%%", 100*last.waiting)))
		}
	}
	return table
}
