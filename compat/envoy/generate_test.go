package envoy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func TestGenerateRepeats(t *testing.T) {
	for seed := range uint64(20) {
		a, b := Generate(seed, startMs, Mode{}), Generate(seed, startMs, Mode{})
		require.Equal(t, a.Files, b.Files)
		require.Equal(t, a.EndMs, b.EndMs)
		for i := range a.Steps {
			require.Equal(t, a.Steps[i].Load, b.Steps[i].Load)
			require.True(t, proto.Equal(a.Steps[i].Request, b.Steps[i].Request))
		}
	}
	require.NotEqual(t, Generate(1, startMs, Mode{}).Files, Generate(2, startMs, Mode{}).Files)
}

// TestApart requires that in histories of Mode.Apart every counter of the reference is one
// descriptor's under limits of one unit, and that it finds others without that mode.
func TestApart(t *testing.T) {
	shared := func(m Mode) (found []string) {
		for seed := range uint64(300) {
			found = append(found, sharedCounters(t, Generate(seed, startMs, m))...)
		}
		return found
	}
	require.Empty(t, shared(Mode{Apart: true}))
	require.Empty(t, shared(Mode{Apart: true, Underscores: true}))
	require.NotEmpty(t, shared(Mode{}))
}

// sharedCounters returns the names under which the reference counts descriptors of a
// history that differ, or limits of several units.
func sharedCounters(t *testing.T, h *History) (found []string) {
	t.Helper()
	counted := map[string]string{} // what a name counts
	for _, limit := range limitsOf(t, h) {
		joined, plain := limit.request.Domain, fmt.Sprintf("%q", limit.request.Domain)
		for i, e := range limit.request.Descriptors[0].Entries {
			value := e.Value
			if p := limit.ShareThresholdKeyPattern; i < len(p) && p[i] != "" {
				value = p[i]
			}
			joined += "_" + e.Key + "_" + value
			plain += fmt.Sprintf(" %q=%q", e.Key, value)
		}
		plain += " per " + limit.Limit.Unit.String()
		if was, ok := counted[joined]; ok && was != plain {
			found = append(found, joined)
		}
		counted[joined] = plain
	}
	return found
}

// appliedLimit is a limit with a request for its one descriptor.
type appliedLimit struct {
	*config.RateLimit
	request *pb.RateLimitRequest
}

// limitsOf returns the limits that the reference counts in a history.
func limitsOf(t *testing.T, h *History) (all []appliedLimit) {
	t.Helper()
	c, err := load(h.Files)
	require.NoError(t, err)
	for _, s := range h.Steps {
		if s.Load != nil {
			if next, err := load(s.Load); err == nil {
				c = next
			}
		}
		for _, d := range s.Request.Descriptors {
			l := c.GetLimit(context.Background(), s.Request.Domain, d)
			if l == nil || l.Unlimited {
				continue
			}
			one := proto.Clone(s.Request).(*pb.RateLimitRequest)
			one.Descriptors = one.Descriptors[:0]
			all = append(all, appliedLimit{l, one})
			one.Descriptors = append(one.Descriptors, d)
		}
	}
	return all
}

// TestGenerateCovers requires that histories come to every kind of answer.
func TestGenerateCovers(t *testing.T) {
	r := newReference(t, redisServer(t), Options{Headers: true, Metadata: true})
	seen := map[string]int{}
	now := *nowFlag
	for seed := range uint64(100) {
		h := Generate(seed, now, Mode{Apart: true})
		now = h.EndMs
		require.NoError(t, r.Load(h.Files))
		for _, s := range h.Steps {
			require.NoError(t, r.Advance(s.Advance))
			if s.Load != nil && r.Load(s.Load) != nil {
				seen["refused load"]++
			}
			answer, err := r.Decide(s.Request)
			for _, kind := range kinds(answer, err) {
				seen[kind]++
			}
		}
	}
	t.Log(seen)
	for _, kind := range []string{
		"refused load", "error", "OK", "OVER_LIMIT", "denied", "allowed", "no limit", "unlimited", "last hit",
		"limit of 0", "several denied", "quota violation", "limit with name", "no headers",
		"DAY", "HOUR", "MINUTE", "MONTH", "SECOND", "WEEK", "YEAR",
	} {
		require.Greater(t, seen[kind], 5, kind)
	}
	for name := range r.Counters() {
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			seen[name[i+1:]]++
		}
	}
	for _, counter := range []string{
		"near_limit", "over_limit", "shadow_mode", "total_hits", "within_limit",
	} {
		require.Greater(t, seen[counter], 5, counter)
	}
}

// kinds names what an answer is a case of.
func kinds(a *pb.RateLimitResponse, err error) (kinds []string) {
	if err != nil {
		return []string{"error"}
	}
	kinds = append(kinds, a.OverallCode.String())
	denied := 0
	for _, s := range a.Statuses {
		limit := s.GetCurrentLimit()
		switch {
		case limit == nil && s.LimitRemaining == 0:
			kinds = append(kinds, "no limit")
		case limit == nil:
			kinds = append(kinds, "unlimited")
		case s.Code == pb.RateLimitResponse_OVER_LIMIT:
			kinds = append(kinds, "denied", limit.Unit.String())
			denied++
		case s.LimitRemaining == 0:
			kinds = append(kinds, "last hit")
		default:
			kinds = append(kinds, "allowed", limit.Unit.String())
		}
		if limit != nil && limit.RequestsPerUnit == 0 {
			kinds = append(kinds, "limit of 0")
		}
		if limit.GetName() != "" {
			kinds = append(kinds, "limit with name")
		}
	}
	if denied > 1 {
		kinds = append(kinds, "several denied")
	}
	if a.DynamicMetadata.Fields["quotaModeViolations"] != nil {
		kinds = append(kinds, "quota violation")
	}
	if len(a.ResponseHeadersToAdd) == 0 {
		kinds = append(kinds, "no headers")
	}
	return kinds
}
