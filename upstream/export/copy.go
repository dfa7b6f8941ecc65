package export

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/zlimit/zlimit/persist/rdb"
)

// batch is how many keys are copied with one round trip to the source and one to the destination.
const batch = 500

// copyAll copies every key of a source.
func (m *move) copyAll(ctx context.Context, s *source) error {
	for cursor := uint64(0); ; {
		keys, next, err := s.client.Scan(ctx, cursor, "", batch).Result()
		if err != nil {
			return err
		}
		if err := m.copyKeys(ctx, s, keys); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			m.Log(fmt.Sprintf("%s: %d keys are copied", s.addr, m.report.Keys))
			return nil
		}
	}
}

// copyChanged copies the keys that have changed meanwhile, and returns how many they were.
func (m *move) copyChanged(ctx context.Context) (n int, err error) {
	m.passes++
	for _, s := range m.sources {
		keys, err := s.taken(ctx, m.passes)
		if err != nil {
			return n, fmt.Errorf("%s: %w", s.addr, err)
		}
		n += len(keys)
		for some := range slices.Chunk(keys, batch) {
			if err := m.copyKeys(ctx, s, some); err != nil {
				return n, fmt.Errorf("%s: %w", s.addr, err)
			}
		}
	}
	m.report.Again += n
	return n, nil
}

// copyKeys makes the destination's keys what the source's are now: also absent.
func (m *move) copyKeys(ctx context.Context, s *source, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	type state struct{ dump, until *redis.Cmd }
	read := s.client.Pipeline()
	states := make([]state, len(keys))
	for i, key := range keys {
		states[i] = state{read.Do(ctx, "DUMP", key), read.Do(ctx, "PEXPIRETIME", key)}
	}
	if _, err := read.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	write := m.to.Pipeline()
	written := make([]*redis.Cmd, len(keys))
	for i, key := range keys {
		payload, err := states[i].dump.Text()
		if err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("DUMP %q: %w", key, err)
		}
		var converted []byte
		if err == nil {
			var refused error
			if converted, refused = rdb.Convert([]byte(payload)); refused != nil {
				return fmt.Errorf("%q cannot be moved: %w", key, refused)
			}
		}
		until, untilErr := states[i].until.Int64()
		if untilErr != nil {
			return fmt.Errorf("PEXPIRETIME %q: %w", key, untilErr)
		}
		if err != nil || until == -2 { // it is gone; if only since DUMP, that is announced, or it has expired
			written[i] = write.Do(ctx, "DEL", key)
			continue
		}
		written[i] = write.Do(ctx, "RESTORE", key, max(until, 0), converted, "REPLACE", "ABSTTL")
	}
	_, _ = write.Exec(ctx) // each has its own error
	for i, reply := range written {
		if err := reply.Err(); err != nil {
			return fmt.Errorf("the destination does not take %q: %w", keys[i], err)
		}
	}
	m.report.Keys += len(keys)
	return nil
}

// libraryOfGateways begins the names of the libraries that gateways load by themselves.
const libraryOfGateways = "zlimit"

// copyFunctions copies the function libraries, those of gateways apart.
func (m *move) copyFunctions(ctx context.Context) error {
	libraries, err := m.sources[0].client.FunctionList(ctx, redis.FunctionListQuery{WithCode: true}).Result()
	if err != nil {
		return fmt.Errorf("function libraries of the source: %w", err)
	}
	for _, library := range libraries {
		if strings.HasPrefix(library.Name, libraryOfGateways) {
			continue
		}
		if err := m.load(ctx, library.Code); err != nil {
			return fmt.Errorf("the destination does not take the library %q: %w", library.Name, err)
		}
	}
	return nil
}

// load loads a library on every master of the destination.
func (m *move) load(ctx context.Context, code string) error {
	if c, ok := m.to.(*redis.ClusterClient); ok {
		return c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			return node.FunctionLoadReplace(ctx, code).Err()
		})
	}
	return m.to.FunctionLoadReplace(ctx, code).Err()
}
