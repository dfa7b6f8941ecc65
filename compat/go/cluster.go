package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterFlows are what a client does in a cluster besides the documents' flows. Their lines are numbered,
// not dated.
var clusterFlows = []flow{
	{name: "cluster", run: inCluster},
	{name: "rl", run: ratelimits, oursOnly: true},
}

// twoKeysScript is a limiter with two keys, which a cluster refuses unless they share a slot.
var twoKeysScript = redis.NewScript(`
return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])
`)

// foreignKeyScript uses a key that it does not declare.
var foreignKeyScript = redis.NewScript(`#!lua
return redis.call('INCR', KEYS[1]) + redis.call('INCR', ARGV[1])
`)

// inCluster shows the errors of a limiter whose keys are in two slots, and what crosses slots.
func inCluster(c call) error {
	here, there := c.key+":{a}", c.key+":{b}"
	// Two calls with a key each: DEL of both would be refused.
	if err := errors.Join(c.client.Del(c.ctx, here).Err(), c.client.Del(c.ctx, there).Err()); err != nil {
		return err
	}
	c.judge(1, twoKeysScript.Run(c.ctx, c.client, []string{here, there}).Err())
	c.judge(2, foreignKeyScript.Run(c.ctx, c.client, []string{here}, there).Err())
	c.judge(3, twoKeysScript.Run(c.ctx, c.client, []string{here, here + ":more"}).Err())
	pipe := c.client.Pipeline()
	one, two := pipe.Incr(c.ctx, here), pipe.Incr(c.ctx, there)
	if _, err := pipe.Exec(c.ctx); err != nil {
		return err
	}
	c.print(4, "pipeline", "here", one.Val(), "there", two.Val())
	heard, err := c.hear(c.client.Subscribe(c.ctx, here), func() error {
		return c.client.Publish(c.ctx, here, "hello").Err()
	})
	if err != nil {
		return err
	}
	c.print(5, "message", "text", heard)
	heard, err = c.hear(c.client.SSubscribe(c.ctx, here), func() error {
		return c.client.SPublish(c.ctx, here, "hello").Err()
	})
	if err != nil {
		return err
	}
	c.print(6, "shard-message", "text", heard)
	return nil
}

// hear returns the message that publish causes.
func (c call) hear(from *redis.PubSub, publish func() error) (text string, err error) {
	defer from.Close()
	ctx, cancel := context.WithTimeout(c.ctx, time.Minute)
	defer cancel()
	if _, err := from.Receive(ctx); err != nil { // the subscription
		return "", err
	}
	if err := publish(); err != nil {
		return "", err
	}
	message, err := from.ReceiveMessage(ctx)
	if err != nil {
		return "", err
	}
	return message.Payload, nil
}

// judge prints whether a call was refused, and with which error.
func (c call) judge(number int64, err error) {
	if err == nil {
		c.print(number, word(true))
		return
	}
	c.print(number, "refused", "error", strings.ReplaceAll(err.Error(), " ", "_"))
}

// ratelimits are commands that only our server has.
func ratelimits(c call) error {
	held := c.key + ":held"
	if err := errors.Join(c.client.Del(c.ctx, c.key).Err(), c.client.Del(c.ctx, held).Err()); err != nil {
		return err
	}
	for i, args := range [][]any{
		{"RL.ALLOW", c.key, 2, "1h"},
		{"RL.ALLOW", c.key, 2, "1h"},
		{"RL.ALLOW", c.key, 2, "1h"},
		{"RL.RESERVE", held, 10, "1h", 8, "HOLD", "1m", "ID", "job"},
		{"RL.RESERVE", held, 10, "1h", 8, "HOLD", "1m", "ID", "other"},
		{"RL.SETTLE", held, "job", 3},
		{"RL.ALLOW", held, 10, "1h", "COST", 7},
	} {
		reply, err := c.client.Do(c.ctx, args...).Result()
		if err != nil {
			return err
		}
		switch fields, _ := reply.([]any); len(fields) {
		case 2: // of RL.SETTLE
			c.print(int64(i+1), "settled", "units", fields[0])
		case 5:
			c.print(int64(i+1), word(fields[0] != int64(0)), "remaining", fields[2])
		default:
			return fmt.Errorf("%v: unexpected reply %v", args, reply)
		}
	}
	return nil
}
