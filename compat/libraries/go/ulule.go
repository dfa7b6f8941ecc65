package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	ululelimiter "github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
)

var ulule = library{
	module: "github.com/ulule/limiter/v3", client: goRedis,
	flows: []flow{{"fixed-window", ululeFixed}},
}

func ululeFixed(address string) limiter {
	client := newClient(address)
	return func(limit, window int) (hit, error) {
		store, err := ululeredis.NewStore(client)
		if err != nil {
			return nil, err
		}
		limits := ululelimiter.New(store, ululelimiter.Rate{
			Limit: int64(limit), Period: time.Duration(window) * time.Second,
		})
		return func(ctx context.Context, key string) (answer, error) {
			before := time.Now()
			result, err := limits.Get(ctx, key)
			if err != nil {
				return answer{}, err
			}
			reset, err := ululeReset(ctx, client, key, result.Reset, before, time.Now())
			if err != nil {
				return answer{}, err
			}
			return answer{!result.Reached, fmt.Sprintf("remaining=%d reset=%d", result.Remaining, reset)}, nil
		}, nil
	}
}

// ululeReset returns the key's time to live in seconds if the reported reset is as long after the call by
// this process' clock, and an error otherwise. To subtract from reported what the library added would make
// the result depend on the duration of the call.
func ululeReset(
	ctx context.Context, client *redis.Client, key string, reported int64, before, after time.Time,
) (int64, error) {
	ttl, err := client.PTTL(ctx, "limiter:"+key).Result()
	if err != nil {
		return 0, err
	}
	if reported < before.Add(ttl).Unix() || reported > after.Add(ttl).Unix() {
		return 0, fmt.Errorf("reset at %d, with %v to live after a call from %v to %v", reported, ttl, before,
			after)
	}
	return seconds(ttl), nil
}
