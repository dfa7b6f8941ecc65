package abuse

import (
	"context"
	"fmt"
	"strconv"
)

// fill stores the keys of rows that have many, a million in lab/abuse/measure.
func fill(t *Target) error {
	c, err := t.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return c.fill("abuse:filler:", t.keys())
}

// keys returns how many keys a row with many of them has.
func (t *Target) keys() int { return 100 * t.Size }

// fill stores n keys in pipelines.
func (c *Client) fill(prefix string, n int) error {
	const batch = 1000
	var b []byte
	for i := 0; i < n; i += batch {
		b = b[:0]
		for j := range batch {
			b = append(b, Command("SET", prefix+strconv.Itoa(i+j), "1")...)
		}
		if err := c.Send(b); err != nil {
			return err
		}
		for range batch {
			if _, err := c.Reply(); err != nil {
				return err
			}
		}
	}
	return nil
}

// keys asks for all keys at once.
func keys(ctx context.Context, t *Target) error {
	c, err := t.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return t.rounds(ctx, func(i int) error {
		pattern := "abuse:*"
		if i%2 == 1 {
			pattern = "*no*such*key*"
		}
		reply, err := c.Do("KEYS", pattern)
		if found, _ := reply.([]any); err != nil || i%2 == 0 && len(found) < t.keys() {
			return fmt.Errorf("KEYS %s returns %d keys: %w", pattern, len(found), err)
		}
		return nil
	})
}

// scan walks through all keys.
func scan(ctx context.Context, t *Target) error {
	c, err := t.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return t.rounds(ctx, func(int) error {
		found := 0
		for cursor := "0"; found == 0 || cursor != "0"; {
			reply, err := c.Do("SCAN", cursor, "COUNT", "10000")
			page, ok := reply.([]any)
			if err != nil || !ok || len(page) != 2 {
				return fmt.Errorf("SCAN returns %v: %w", reply, err)
			}
			cursor, _ = page[0].(string)
			names, _ := page[1].([]any)
			found += len(names)
			if ctx.Err() != nil {
				return nil
			}
		}
		if found < t.keys() {
			return fmt.Errorf("SCAN finds %d keys", found)
		}
		return nil
	})
}

// flood stores new keys that expire soon, as a client does that counts by what an
// attacker sends.
func flood(ctx context.Context, t *Target) error {
	const clients, batch = 4, 100
	return together(clients, func(id int) error {
		c, err := t.dial()
		if err != nil {
			return err
		}
		defer c.Close()
		var b []byte
		return t.rounds(ctx, func(round int) error {
			b = b[:0]
			for i := range batch {
				key := fmt.Sprintf("abuse:%d:%d:%d", id, round, i)
				b = append(b, Command("SET", key, "1", "PX", "1000")...)
			}
			if err := c.Send(b); err != nil {
				return err
			}
			for range batch {
				if _, err := c.Reply(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// hot makes many clients use one key.
func hot(ctx context.Context, t *Target) error {
	const clients, batch = 32, 10
	b := Command("INCR", "abuse:hot")
	for range batch - 1 {
		b = append(b, Command("INCR", "abuse:hot")...)
	}
	return together(clients, func(int) error {
		c, err := t.dial()
		if err != nil {
			return err
		}
		defer c.Close()
		last := int64(0)
		return t.rounds(ctx, func(int) error {
			if err := c.Send(b); err != nil {
				return err
			}
			for range batch {
				reply, err := c.Reply()
				n, _ := reply.(int64)
				if err != nil || n <= last {
					return fmt.Errorf("INCR returns %v after %d: %w", reply, last, err)
				}
				last = n
			}
			return nil
		})
	})
}
