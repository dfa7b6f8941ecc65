package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter"
)

// TestDraw compares docs/traffic.svg with a new drawing.
func TestDraw(t *testing.T) {
	var want bytes.Buffer
	require.NoError(t, draw(&want))
	have, err := os.ReadFile("../../docs/traffic.svg")
	require.NoError(t, err)
	// Not Equal: a diff of paths is unreadable.
	require.True(t, bytes.Equal(want.Bytes(), have),
		"the picture is old: run make picture")
	require.Less(t, len(have), 60_000)

	for d := xml.NewDecoder(bytes.NewReader(have)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
}

// TestPictureShowsThePromise checks that the picture agrees with docs/worst-window.md
// and that nothing exceeds its strip.
func TestPictureShowsThePromise(t *testing.T) {
	for _, load := range traffics {
		offered := load.offer()
		require.Greater(t, worstOf(offered), 140*limit/100, "%s: the load is too tame", load.name)
		require.LessOrEqual(t, slices.Max(sums(offered, barMs)), int64(barsTall))
		for _, kind := range algorithms {
			worst := worstOf(admitted(offered, kind.fresh()))
			switch kind.name {
			case "LOG", "BUCKETS 10":
				require.Equal(t, limit, worst, "%s, %s", kind.name, load.name)
			default:
				require.Greater(t, worst, limit, "%s, %s", kind.name, load.name)
				require.LessOrEqual(t, worst, 2*limit, "%s, %s", kind.name, load.name)
			}
			if kind.name == "FIXED" && load.name == "Edge of a window" {
				require.Equal(t, 2*limit, worst)
			}
		}
	}
}

func worstOf(perMs []int64) int64 { return slices.Max(inWindow(perMs)) }

// open admits everything.
type open struct{}

func (open) admit(int64, limiter.Quota) int64 { return 1 }

// TestWorstWindowIsCounted checks that the count notices a limiter that admits
// everything, and where a window ends.
func TestWorstWindowIsCounted(t *testing.T) {
	offered := traffics[1].offer()
	passed := admitted(offered, open{})
	require.Equal(t, offered, passed)
	require.Greater(t, worstOf(passed), 2*limit)

	pair := func(apartMs int) []int64 {
		perMs := make([]int64, 2*windowMs)
		perMs[3], perMs[3+apartMs] = 1, 1
		return perMs
	}
	require.EqualValues(t, 2, worstOf(pair(int(windowMs)-1)))
	require.EqualValues(t, 1, worstOf(pair(int(windowMs))))
}

func TestSteps(t *testing.T) {
	require.Equal(t, "M0 0V2H2V1H3V0H4V5H5V0z", steps([]int64{2, 2, 1, 0, 5}))
	require.Equal(t, "M0 0H1V3H2V0z", steps([]int64{0, 3}))
	require.Equal(t, []int64{3, 7, 5}, sums([]int64{1, 2, 3, 4, 5}, 2))
	require.Equal(t, []int64{2, 4, 5}, highs([]int64{1, 2, 3, 4, 5}, 2))
}
