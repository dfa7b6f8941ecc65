package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A flow is one document's limiter: its commands in the document's order and units, with nothing corrected.
type flow struct {
	name     string
	instants []int64 // unix milliseconds, used if none are given
	run      func(call) error
	oursOnly bool // of commands that redis-server does not have
}

// A call is one run of a flow. The instants, in unix milliseconds, are the only source of time.
type call struct {
	ctx      context.Context
	client   redis.UniversalClient
	key      string
	instants []int64
	out      io.Writer
}

var flows = []flow{
	{name: "commands-seconds", instants: wholeSeconds(60), run: commandsSeconds},
	{name: "script-millis", instants: scriptMillisInstants(), run: scriptMillis},
	{name: "pipeline-multi", instants: addFirst(), run: pipelineMulti},
	{name: "pipeline-collision", instants: colliding(), run: pipelineMulti},
	{name: "pipeline-lua", instants: addFirst(), run: pipelineLua},
	{name: "script-seconds", instants: wholeSeconds(10), run: scriptSeconds},
	{name: "rolling", instants: fixedSlices(), run: rolling},
	{name: "hash-tag", instants: tagged(), run: hashTag},
}

// print writes one decision. details are names and values that were read after it and are not part of the
// limiter.
func (c call) print(instant int64, decision string, details ...any) {
	fmt.Fprintf(c.out, "%d %s", instant, decision)
	for i := 0; i+1 < len(details); i += 2 {
		fmt.Fprintf(c.out, " %v=%v", details[i], details[i+1])
	}
	fmt.Fprintln(c.out)
}

func (c call) state() (zcard int64, ttl string, err error) {
	zcard, cardErr := c.client.ZCard(c.ctx, c.key).Result()
	ttl, ttlErr := c.ttl(c.key)
	return zcard, ttl, errors.Join(cardErr, ttlErr)
}

// ttl undoes go-redis' conversion to durations: seconds become durations, -1 and -2 nanoseconds.
func (c call) ttl(key string) (string, error) {
	ttl, err := c.client.TTL(c.ctx, key).Result()
	if ttl < 0 {
		return strconv.FormatInt(int64(ttl), 10), err
	}
	return strconv.FormatInt(int64(ttl/time.Second), 10), err
}

func (c call) newest() (string, error) {
	members, err := c.client.ZRange(c.ctx, c.key, -1, -1).Result()
	if err != nil || len(members) == 0 {
		return "none", err
	}
	return members[0], nil
}

func word(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}

// decide accepts only the exact reply as a decision: an integer instead of a string is printed as what it is.
func decide(reply, allowed, denied any) string {
	switch reply {
	case allowed:
		return word(true)
	case denied:
		return word(false)
	}
	return strings.ReplaceAll(fmt.Sprintf("reply:%T(%v)", reply, reply), " ", "_")
}

func commandsSeconds(c call) error {
	const limit, window = 100, 60
	if err := c.client.Del(c.ctx, c.key).Err(); err != nil {
		return err
	}
	for _, instant := range c.instants {
		now := instant / 1000
		oldest := strconv.FormatInt(now-window, 10)
		if err := c.client.ZRemRangeByScore(c.ctx, c.key, "0", oldest).Err(); err != nil {
			return err
		}
		count, err := c.client.ZCard(c.ctx, c.key).Result()
		if err != nil {
			return err
		}
		if count < limit {
			hit := redis.Z{Score: float64(now), Member: now}
			err := errors.Join(
				c.client.ZAdd(c.ctx, c.key, hit).Err(),
				c.client.Expire(c.ctx, c.key, window*time.Second).Err(),
			)
			if err != nil {
				return err
			}
		}
		zcard, ttl, err := c.state()
		if err != nil {
			return err
		}
		c.print(instant, word(count < limit), "zcard", zcard, "ttl", ttl)
	}
	return nil
}

func pipelineMulti(c call) error {
	const period, maximum = 60, 5
	if err := c.client.Del(c.ctx, c.key).Err(); err != nil {
		return err
	}
	for _, instant := range c.instants {
		member := strconv.FormatInt(instant, 10)
		oldest := strconv.FormatInt(instant-period*1000, 10)
		pipe := c.client.TxPipeline()
		pipe.ZAdd(c.ctx, c.key, redis.Z{Score: float64(instant), Member: member})
		removed := pipe.ZRemRangeByScore(c.ctx, c.key, "0", oldest)
		count := pipe.ZCard(c.ctx, c.key)
		pipe.Expire(c.ctx, c.key, period*time.Second)
		if _, err := pipe.Exec(c.ctx); err != nil {
			return err
		}
		_, ttl, err := c.state()
		if err != nil {
			return err
		}
		c.print(instant, word(count.Val() <= maximum), "removed", removed.Val(), "zcard", count.Val(),
			"ttl", ttl)
	}
	return nil
}

func rolling(c call) error {
	const widthMs, maximum = 5000, 10
	slice := func(instant int64) string { return c.key + ":" + strconv.FormatInt(instant/widthMs, 10) }
	for _, instant := range c.instants {
		if err := c.client.Del(c.ctx, slice(instant)).Err(); err != nil {
			return err
		}
	}
	for _, instant := range c.instants {
		count, err := c.client.IncrBy(c.ctx, slice(instant), 1).Result()
		if err != nil {
			return err
		}
		if count == 1 {
			if err := c.client.Expire(c.ctx, slice(instant), 6*time.Second).Err(); err != nil {
				return err
			}
		}
		ttl, err := c.ttl(slice(instant))
		if err != nil {
			return err
		}
		c.print(instant, word(count <= maximum), "count", count, "ttl", ttl)
	}
	return nil
}
