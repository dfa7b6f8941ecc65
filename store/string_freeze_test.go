package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
)

func TestFrozenStringDoesNotChange(t *testing.T) {
	for _, start := range []string{"text", "12", ""} {
		for name, change := range map[string]func(s *store.String){
			"Set":       func(s *store.String) { s.Set([]byte("TEXT")) },
			"SetBytes":  func(s *store.String) { s.SetBytes([]byte("99")) },
			"SetInt":    func(s *store.String) { s.SetInt(7) },
			"Append":    func(s *store.String) { s.Append([]byte("!")) },
			"Overwrite": func(s *store.String) { s.Overwrite(1, []byte("E")) },
			"Edit":      func(s *store.String) { s.Edit(1)[0] ^= 1 },
			"Edit more": func(s *store.String) { s.Edit(20)[10] = 1 },
			"twice": func(s *store.String) {
				s.Append([]byte("!?"))
				s.Overwrite(0, []byte("T"))
				s.Set([]byte("tiny"))
				s.Set([]byte("tidy"))
			},
		} {
			s := store.NewString([]byte(start))
			first := s.Freeze()
			change(s)
			second, was := s.Freeze(), string(s.Bytes(nil))
			s.Overwrite(0, []byte("#"))
			require.Equal(t, start, string(first.Bytes(nil)), name)
			require.Equal(t, was, string(second.Bytes(nil)), name)
			require.Equal(t, "#", string(s.Bytes(nil)[:1]), name)
		}
	}
}
