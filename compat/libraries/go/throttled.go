package main

import (
	"context"
	"fmt"
	"time"

	"github.com/throttled/throttled/v2"
	throttledredis "github.com/throttled/throttled/v2/store/goredisstore.v9"
)

var throttledGCRA = library{
	module: "github.com/throttled/throttled/v2", client: goRedis,
	flows: []flow{{"gcra", throttledOnGoRedis}},
}

// throttledTries is far above the library's default of ten: its check is a compare-and-swap, which a thousand
// concurrent callers lose more often.
const throttledTries = 10 * callers

func throttledOnGoRedis(address string) limiter {
	client := newClient(address)
	return func(limit, window int) (hit, error) {
		store, err := throttledredis.NewCtx(client, "")
		if err != nil {
			return nil, err
		}
		quota := throttled.RateQuota{
			MaxRate:  throttled.PerDuration(limit, time.Duration(window)*time.Second),
			MaxBurst: limit - 1,
		}
		limits, err := throttled.NewGCRARateLimiterCtx(store, quota)
		if err != nil {
			return nil, err
		}
		limits.SetMaxCASAttemptsLimit(throttledTries)
		return func(ctx context.Context, key string) (answer, error) {
			limited, result, err := limits.RateLimitCtx(ctx, key, 1)
			if err != nil {
				return answer{}, err
			}
			fields := fmt.Sprintf("remaining=%d retry=%d reset=%d", result.Remaining,
				seconds(result.RetryAfter), seconds(result.ResetAfter))
			return answer{!limited, fields}, nil
		}, nil
	}
}
