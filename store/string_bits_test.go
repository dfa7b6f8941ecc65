package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
)

func TestEdit(t *testing.T) {
	for _, start := range []string{"12", "", "some text"} {
		s := store.NewString([]byte(start))
		b := s.Edit(3)
		require.Len(t, b, max(3, len(start)))
		b[0] = 'x'
		want := []byte(start + "\x00\x00\x00")[:max(3, len(start))]
		want[0] = 'x'
		require.Equal(t, string(want), string(s.Bytes(nil)))
		require.Equal(t, "raw", s.Encoding())
		require.Equal(t, string(want), string(s.Edit(0)), "never shortened")
	}
	require.Equal(t, "raw", store.NewRaw([]byte("12")).Encoding())
}

// Setting bits at increasing offsets must not copy the string for each byte.
func TestEditGrowsAhead(t *testing.T) {
	s := store.NewRaw(nil)
	copies, capacity := 0, 0
	for size := 1; size <= 1<<20; size++ {
		if b := s.Edit(size); cap(b) != capacity {
			copies, capacity = copies+1, cap(b)
		}
	}
	require.Less(t, copies, 100)
}

// The capacity behind the end may contain old bytes.
func TestEditClearsWhatAppendLeft(t *testing.T) {
	s := store.NewRaw([]byte("secret"))
	s.SetBytes([]byte("abcde"))
	s.SetBytes([]byte("ab"))
	require.Equal(t, "ab\x00\x00\x00", string(s.Edit(5)))
}
