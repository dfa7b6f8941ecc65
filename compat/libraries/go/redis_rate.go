package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-redis/redis_rate/v10"
)

var redisRate = library{
	module: "github.com/go-redis/redis_rate/v10", client: goRedis,
	flows: []flow{
		{"gcra", func(address string) limiter { return redisRateBy(address, (*redis_rate.Limiter).Allow) }},
		{"gcra-at-most", func(address string) limiter { return redisRateBy(address, allowAtMostOne) }},
	},
}

const goRedis = "github.com/redis/go-redis/v9"

type redisRateCall func(
	*redis_rate.Limiter, context.Context, string, redis_rate.Limit,
) (*redis_rate.Result, error)

func allowAtMostOne(
	l *redis_rate.Limiter, ctx context.Context, key string, limit redis_rate.Limit,
) (*redis_rate.Result, error) {
	return l.AllowAtMost(ctx, key, limit, 1)
}

func redisRateBy(address string, call redisRateCall) limiter {
	limits := redis_rate.NewLimiter(newUniversal(address))
	return func(limit, window int) (hit, error) {
		rule := redis_rate.Limit{Rate: limit, Burst: limit, Period: time.Duration(window) * time.Second}
		return func(ctx context.Context, key string) (answer, error) {
			result, err := call(limits, ctx, key, rule)
			if err != nil {
				return answer{}, err
			}
			fields := fmt.Sprintf("remaining=%d retry=%d reset=%d", result.Remaining,
				seconds(result.RetryAfter), seconds(result.ResetAfter))
			return answer{result.Allowed == 1, fields}, nil
		}, nil
	}
}
