package limiter

import "errors"

// Quota is one limit of a call: at most Limit units in any WindowMs milliseconds. A
// limit of 0 denies every call. See Validate for the bounds.
type Quota struct {
	Limit    int64
	WindowMs int64
}

// growsAfter returns how many of the used units must leave before Remaining grows: at least
// 1, and one more than the excess over a lowered limit. It returns 0 if Remaining does not grow.
func (q Quota) growsAfter(used int64) int64 {
	if used == 0 || q.Limit == 0 {
		return 0
	}
	return max(1, used-q.Limit+1)
}

// longest returns the longest window.
func longest(quotas []Quota) int64 {
	windowMs := int64(0)
	for _, q := range quotas {
		windowMs = max(windowMs, q.WindowMs)
	}
	return windowMs
}

// Bounds of a call.
const (
	// DefaultMaxUnits is the default of the directive rl-log-max-units.
	DefaultMaxUnits int64 = 16_777_216
	// MaxCost is the largest cost that can be admitted.
	MaxCost int64 = 1_000_000
	// MaxWindowMs is a hundred years of 365.25 days. Windows are below it.
	MaxWindowMs int64 = 36_525 * 86_400_000
	// MaxQuotas is the maximum number of quotas in a call of RL.ALLOW.
	MaxQuotas = 16
	// MaxBuckets is the maximum number of buckets of BUCKETS.
	MaxBuckets = 1000
)

// Errors of ParseWindow.
var (
	ErrWindowSyntax = errors.New("limiter: window is not whole milliseconds or a whole number of ms, s, m, " +
		"h or d")
	ErrWindowShort = errors.New("limiter: window is below one millisecond")
	ErrWindowLong  = errors.New("limiter: window is not below a hundred years")
)

// Errors of the Validate functions, which can also return ErrWindowShort and
// ErrWindowLong.
var (
	ErrNoQuota      = errors.New("limiter: no limit given")
	ErrLimit        = errors.New("limiter: limit is negative")
	ErrLimitUnits   = errors.New("limiter: limit is above the units a log may hold")
	ErrLimitWindow  = errors.New("limiter: limit is above the microseconds of its window")
	ErrCostNegative = errors.New("limiter: cost is negative")
	ErrCostLarge    = errors.New("limiter: cost is above 1,000,000 and could be admitted")
	ErrBurst        = errors.New("limiter: burst is negative")
	ErrBurstLong    = errors.New("limiter: burst takes a hundred years to fill")
	ErrBuckets      = errors.New("limiter: buckets are not from 1 to 1,000")
)

// ErrInstant is returned by Decide, Peek and Record if the units to record would have
// scores outside of [MinScore, MaxScore): the clock is outside of 1973 to 2255, or so
// near the end that the units would cross it. Nothing changes.
var ErrInstant = errors.New("limiter: the clock is outside of what a log can hold")

// Validate checks a call of the LOG algorithm. It reports the first fault in the order
// of the arguments: each quota's limit, window, then their relation; then the cost.
// maxUnits is rl-log-max-units.
//
// A limit above its window's microseconds is refused because a millisecond has 1,000
// scores: such a log would run ahead of the clock forever. A cost above MaxCost is no
// error if it is above a limit: it is never admitted, and the decision says so. With
// AtMost no more than the lowest limit is granted.
func Validate(quotas []Quota, call Call, maxUnits int64) error {
	if len(quotas) == 0 {
		return ErrNoQuota
	}
	least := quotas[0].Limit
	for _, q := range quotas {
		if err := q.check(); err != nil {
			return err
		}
		switch {
		case q.Limit > maxUnits:
			return ErrLimitUnits
		case q.Limit > q.WindowMs*unitsPerMs:
			return ErrLimitWindow
		}
		least = min(least, q.Limit)
	}
	switch {
	case call.Cost < 0:
		return ErrCostNegative
	case call.Cost > MaxCost && least > MaxCost && (call.AtMost || call.Cost <= least):
		return ErrCostLarge
	}
	return nil
}

// ValidateQuota checks a call of an algorithm that takes one quota.
func ValidateQuota(q Quota, call Call) error {
	if err := q.check(); err != nil {
		return err
	}
	if call.Cost < 0 {
		return ErrCostNegative
	}
	return nil
}

// ValidateQuotas checks a call of an algorithm that is not known yet: ValidateQuota for
// each quota.
func ValidateQuotas(quotas []Quota, call Call) error {
	for _, q := range quotas {
		if err := ValidateQuota(q, call); err != nil {
			return err
		}
	}
	return nil
}

// ValidateBurst checks the burst of GCRA for a valid quota. Below a hundred years no
// step of the algorithm overflows. A burst of 0 denies every call.
func ValidateBurst(q Quota, burst int64) error {
	switch {
	case burst < 0:
		return ErrBurst
	case q.Capacity(burst) >= ceil(MaxWindowMs*usPerMs, q.Interval()):
		return ErrBurstLong
	}
	return nil
}

// ValidateBuckets checks the number of buckets of BUCKETS.
func ValidateBuckets(n int64) error {
	if n < 1 || n > MaxBuckets {
		return ErrBuckets
	}
	return nil
}

func (q Quota) check() error {
	switch {
	case q.Limit < 0:
		return ErrLimit
	case q.WindowMs < 1:
		return ErrWindowShort
	case q.WindowMs >= MaxWindowMs:
		return ErrWindowLong
	}
	return nil
}
