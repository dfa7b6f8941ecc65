package envoy

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// roundOfHistories is how many histories follow each other on one clock. A history takes
// two months on average, and zlimit's clock ends in 2262.
const roundOfHistories = 400

var historiesMode = Mode{Apart: true, Underscores: true}

// TestHistories compares zlimit-server with the reference: -histories of them, from -seed.
func TestHistories(t *testing.T) {
	addr := redisServer(t)
	program := buildZlimit(t)
	for done := 0; done < *historiesFlag; done += roundOfHistories {
		n, seed := min(roundOfHistories, *historiesFlag-done), *seedFlag+uint64(done)
		t.Run(fmt.Sprintf("%d from seed %d", n, seed), func(t *testing.T) {
			zlimit := startZlimit(t, program, *nowFlag)
			o := Options{Headers: true, HeaderNames: zlimitHeaders, Metadata: true}
			require.NoError(t, compareAll(newReference(t, addr, o), zlimit, seed, n, historiesMode))
		})
	}
}
