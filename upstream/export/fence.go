package export

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// fenced are the directives by which a source refuses writes, as it does with too few replicas. It has never
// so many.
var fenced = map[string]string{"min-replicas-to-write": "2147483647", "min-replicas-max-lag": "10"}

// pause makes writes wait.
func (s *source) pause(ctx context.Context) error {
	return s.client.Do(ctx, "CLIENT", "PAUSE", pauseFor.Milliseconds(), "WRITE").Err()
}

// unpause ends the pause. Writes that wait go on; those of a fenced source are refused.
func (s *source) unpause(ctx context.Context) error {
	return s.client.Do(ctx, "CLIENT", "UNPAUSE").Err()
}

// fence makes the source refuse writes from now on.
func (s *source) fence(ctx context.Context) error {
	former := map[string]string{}
	for name := range fenced {
		found, err := s.client.ConfigGet(ctx, name).Result()
		if err != nil {
			return err
		}
		former[name] = found[name]
	}
	s.former = former
	return s.configure(ctx, fenced)
}

// unfence ends what fence has begun.
func (s *source) unfence(ctx context.Context) error { return s.configure(ctx, s.former) }

func (s *source) configure(ctx context.Context, directives map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(directives)) {
		if err := s.client.ConfigSet(ctx, name, directives[name]).Err(); err != nil {
			return fmt.Errorf("CONFIG SET %s: %w", name, err)
		}
	}
	return nil
}

// undo returns the command that ends the fence.
func (s *source) undo() string {
	if s.former == nil {
		return ""
	}
	return fmt.Sprintf("%s: CONFIG SET min-replicas-to-write %s min-replicas-max-lag %s\n", s.addr,
		s.former["min-replicas-to-write"], s.former["min-replicas-max-lag"])
}
