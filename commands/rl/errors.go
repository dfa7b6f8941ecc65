package rl

import (
	"errors"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/calendar"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Error replies of the RL commands.
var (
	errForeignSet  = resp.Error("ERR key holds a sorted set that RL.ALLOW did not write")
	errLimitNumber = resp.Error("ERR limit is not an integer or out of range")
	errCostNumber  = resp.Error("ERR COST is not an integer or out of range")

	errForeignString = resp.Error("ERR key holds a string that RL.ALLOW did not write")
	errForeignHash   = resp.Error("ERR key holds a hash that RL.ALLOW did not write")
	errCostMissing   = commands.SyntaxError("COST needs a number")
	errOneQuota      = resp.Error("ERR several limits and windows require " +
		algosWith(func(a *algorithm) bool { return a.multiQuota }))
	errManyQuotas = resp.Error("ERR the number of limits must be from 1 to " +
		strconv.Itoa(limiter.MaxQuotas))
	errNumKeysNumber = resp.Error("ERR numkeys is not an integer or out of range")
	errTriples       = resp.Error("ERR numkeys must be at most the number of keys " +
		"given with limit and window")
	errRefundNumber   = resp.Error("ERR n is not an integer or out of range")
	errRefundNegative = resp.Error("ERR n must not be negative")

	errAdoptUnit   = commands.SyntaxError("BACK needs s, ms, us or ns")
	ErrAdoptScores = resp.Error("ERR key holds a sorted set whose scores are not all unix times of " +
		"1973 to 2255 in s, ms, us or ns")
	ErrAdoptLarge = resp.Error("ERR key holds more than " + strconv.Itoa(MaxAdopted) + " members")

	errEstimateNumber = resp.Error("ERR estimate is not an integer or out of range")
	errEstimate       = resp.Error("ERR estimate must be at least 1")
	errActualNumber   = resp.Error("ERR actual is not an integer or out of range")
	errActualNegative = resp.Error("ERR actual must not be negative")
	errHoldMissing    = commands.SyntaxError("HOLD with a duration is missing")
	errLeaseMissing   = commands.SyntaxError("LEASE with a duration is missing")
	errIDMissing      = commands.SyntaxError("ID with a value is missing")
	errManyTerms      = resp.Error("ERR numkeys must be from 1 to " + strconv.Itoa(maxTerms) +
		" where terms follow")
	errFewKeys     = resp.Error("ERR numkeys is greater than the number of keys")
	errTermCost    = resp.Error("ERR COST of a term must be at least 1")
	errShadowHold  = commands.SyntaxError("SHADOW is not for reservations: a hold needs units")
	errSlotsID     = commands.SyntaxError("SLOTS needs an ID")
	errIDSlots     = commands.SyntaxError("ID goes with SLOTS")
	ErrHoldKeys    = resp.Error("ERR the hold of this ID is over other keys")
	ErrForeignHold = resp.Error("ERR the hold's key holds a string that RL.RESERVE did not write for " +
		"this ID")
	errIDEmpty       = resp.Error("ERR ID must not be empty")
	errIDLong        = resp.Error("ERR ID must be at most " + strconv.Itoa(maxID) + " bytes")
	errMaxNumber     = resp.Error("ERR max is not an integer or out of range")
	errMax           = resp.Error("ERR max must not be negative")
	errForeignLeases = resp.Error("ERR key holds a sorted set that RL.ACQUIRE did not write")

	errTopN          = resp.Error("ERR n must be from 1 to " + strconv.Itoa(MaxTop))
	errTopOff        = resp.Error("ERR DENIED and HOT are not counted: CONFIG SET rl-top yes")
	errMatchMissing  = commands.SyntaxError("MATCH needs a pattern")
	errWithinMissing = commands.SyntaxError("WITHIN needs a window")
	errWithinRange   = resp.Error("ERR WITHIN must be from 1ms to 1h")
	errWithinBytes   = resp.Error("ERR WITHIN goes with DENIED and HOT, not with BYTES")

	errSimFrom = commands.SyntaxError("FROM KEY n or FROM TRACE n must come last")
	errSimN    = resp.Error("ERR n must be from 1 to " + strconv.Itoa(MaxSim))
	errNoTrace = resp.Error("ERR key is not traced: RL.TRACE ON key n")
)

// wrongActuals refuses a number of actual costs that is not that of the keys.
func wrongActuals(keys, actuals int) resp.Value {
	return resp.Error("ERR " + strconv.Itoa(keys) + " keys need as many actual costs, not " +
		strconv.Itoa(actuals))
}

// calendarAlgorithms are those that accept windows of the calendar.
var calendarAlgorithms = algosWith(func(a *algorithm) bool { return a.calendar })

// windowErrors are replies for limits and windows that name algorithms, whose rows must not refer to them.
var windowErrors = []errorReply{
	{limiter.ErrCalendar, resp.Error("ERR weeks, months, years and windows with a zone go with " +
		calendarAlgorithms + " only: other windows have one length")},
	{limiter.ErrWindowSyntax, resp.Error(rlError(limiter.ErrWindowSyntax).Str() + "; with " +
		calendarAlgorithms + " also 1w, 1mo, 1y or 1d@zone")},
}

// refuse returns the reply for an error of validate.
func (a *algorithm) refuse(err error) resp.Value {
	return errorIn(err, a.errors, windowErrors, rlErrors)
}

// rlError returns the reply for an error that names no algorithm.
func rlError(err error) resp.Value { return errorIn(err, rlErrors) }

// An errorReply is the reply for a sentinel of package limiter.
type errorReply struct {
	err   error
	reply resp.Value
}

func errorIn(err error, lists ...[]errorReply) resp.Value {
	for _, list := range lists {
		for i := range list {
			if errors.Is(err, list[i].err) {
				return list[i].reply
			}
		}
	}
	panic("rl: no reply for " + err.Error())
}

// rlErrors are the replies for package limiter's sentinels.
var rlErrors = []errorReply{
	{limiter.ErrLimit, resp.Error("ERR limit must not be negative")},
	{limiter.ErrWindowSyntax, resp.Error("ERR window must be an integer in milliseconds " +
		"or an integer with a unit (ms, s, m, h or d)")},
	{limiter.ErrWindowShort, resp.Error("ERR window must be at least 1 millisecond")},
	{limiter.ErrWindowLong, resp.Error("ERR window must be below 100 years")},
	{calendar.ErrSyntax, resp.Error("ERR window must be 1h@zone, 1d@zone, 1w[@zone[:mon]], " +
		"1mo[@zone[:day]] or 1y[@zone[:MM-DD]]")},
	{calendar.ErrMany, resp.Error("ERR a window of the calendar is 1h, 1d, 1w, 1mo or 1y: no other number " +
		"has a beginning to agree on")},
	{calendar.ErrZone, resp.Error("ERR zone is not a name of the IANA database such as " +
		"UTC or Europe/Zurich")},
	{calendar.ErrAnchor, resp.Error("ERR the beginning behind a zone is mon to sun of a week, 1 to 31 of a " +
		"month, or MM-DD of a year")},
	{limiter.ErrCostNegative, resp.Error("ERR COST must not be negative")},
	{limiter.ErrSum, resp.Error("ERR key would hold more than " +
		strconv.FormatInt(limiter.MaxUnits, 10) + " units")},
	{limiter.ErrLong, resp.Error("ERR units must take less than 100 years to be gained again")},
	{limiter.ErrInstant, resp.Error("ERR the server's clock is outside the range of a log")},
}

// durationError returns the error of a duration, which has the syntax of a window.
func durationError(name string, err error) resp.Value {
	return resp.Error(strings.Replace(rlError(err).Str(), "window", name, 1))
}

// prefixFull returns the error of a call that would create one key too many; see
// prefix.go.
func prefixFull(p *store.Prefix) resp.Value {
	return resp.Error("LIMITKEYS prefix " + commands.Quote([]byte(p.Name())) + " has reached its limit of " +
		strconv.FormatInt(p.Max(), 10) + " keys")
}
