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
	client := redis.NewClient(&redis.Options{Addr: address})
	return func(limit, window int) (hit, error) {
		store, err := ululeredis.NewStore(client)
		if err != nil {
			return nil, err
		}
		limits := ululelimiter.New(store, ululelimiter.Rate{Limit: int64(limit), Period: time.Duration(window) * time.Second})
		return func(ctx context.Context, key string) (answer, error) {
			result, err := limits.Get(ctx, key)
			if err != nil {
				return answer{}, err
			}
			reset := max(0, time.Until(time.Unix(result.Reset, 0)))
			return answer{!result.Reached, fmt.Sprintf("remaining=%d reset=%d", result.Remaining, seconds(reset))}, nil
		}, nil
	}
}
