package zlimit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/zlimit/zlimit"
)

// Three requests in ten seconds for one user.
func ExampleLimiter_Allow() {
	limits := zlimit.New(zlimit.Options{})
	defer limits.Close()
	limits.Engine().Clock().Freeze() // for the example's sake: time stands still

	for range 4 {
		d, err := limits.Allow(context.Background(), "user:42",
			zlimit.Quota{Limit: 3, Window: 10 * time.Second}, 1)
		if err != nil {
			panic(err)
		}
		fmt.Println(d.OK(), d.Remaining, d.RetryAfter)
	}
	// Output:
	// true 2 0s
	// true 1 0s
	// true 0 0s
	// false 0 10s
}

// Two a second and three a minute: a call takes from both quotas or from neither.
func ExampleLimiter_AllowAll() {
	limits := zlimit.New(zlimit.Options{})
	defer limits.Close()
	clock := limits.Engine().Clock()
	clock.Freeze()

	quotas := []zlimit.Quota{{Limit: 2, Window: time.Second}, {Limit: 3, Window: time.Minute}}
	for _, passMs := range []int64{0, 0, 0, 1000, 1000} {
		if err := clock.Advance(passMs); err != nil {
			panic(err)
		}
		d, err := limits.AllowAll(context.Background(), "user:42", 1, quotas...)
		if err != nil {
			panic(err)
		}
		fmt.Println(d.OK(), "limit", d.Limit, "retry after", d.RetryAfter)
	}
	// Output:
	// true limit 2 retry after 0s
	// true limit 2 retry after 0s
	// false limit 2 retry after 1s
	// true limit 3 retry after 0s
	// false limit 3 retry after 58s
}

// Any command of the server, on the same keys.
func ExampleLimiter_Do() {
	limits := zlimit.New(zlimit.Options{})
	defer limits.Close()
	ctx := context.Background()

	_, _ = limits.Allow(context.Background(), "user:42", zlimit.Quota{Limit: 3, Window: 10 * time.Second}, 2)
	held, err := limits.Do(ctx, "ZCARD", "user:42")
	fmt.Println(held, err)
	_, err = limits.Do(ctx, "LPUSH", "user:42", "x")
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// WRONGTYPE Operation against a key holding the wrong kind of value
}

// A session keeps what a connection would: here, a transaction.
func ExampleLimiter_Session() {
	limits := zlimit.New(zlimit.Options{})
	defer limits.Close()
	ctx := context.Background()
	s := limits.Session()
	defer s.Close()

	for _, args := range [][]any{{"MULTI"}, {"INCR", "calls"}, {"EXPIRE", "calls", 60}, {"EXEC"}} {
		reply, err := s.Do(ctx, args...)
		fmt.Println(reply, err)
	}
	// Output:
	// OK <nil>
	// QUEUED <nil>
	// QUEUED <nil>
	// [1 1] <nil>
}
