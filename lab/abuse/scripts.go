package abuse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// loops runs scripts that compute, with and without keys.
func loops(ctx context.Context, t *Target) error {
	const script = "local n = 0 for i = 1, 1000000 do n = (n * 31 + i) % 65537 end return n"
	c, err := t.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return t.rounds(ctx, func(i int) error {
		args := []string{"EVAL", script, "0"}
		if i%2 == 1 {
			args = []string{"EVAL", script, "1", "abuse:key"}
		}
		_, err := c.Do(args...)
		return err
	})
}

// tables runs scripts that use memory until the server refuses more.
func tables(ctx context.Context, t *Target) error {
	scripts := []string{
		"local t = {} while true do t[#t + 1] = string.rep('x', 1000) .. #t end",
		"local t = {} while true do t[#t + 1] = {} end",
		"local s = 'x' while true do s = s .. s end",
	}
	c, err := t.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return t.rounds(ctx, func(i int) error {
		_, err := c.Do("EVAL", scripts[i%len(scripts)], "0")
		if !isErrorReply(err) || !strings.Contains(err.Error(), "not enough memory") {
			err = errors.Join(err, errors.New("it is not refused"))
			return fmt.Errorf("%q: %w", scripts[i%len(scripts)], err)
		}
		return pause(ctx, t, 10*time.Millisecond)
	})
}
