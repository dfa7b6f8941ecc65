package commands

import (
	"errors"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Error replies, byte for byte Redis 7.0's: clients match them. Other packages use the
// exported ones.
var (
	ErrSyntax = resp.Error("ERR syntax error")
	errLFU    = resp.Error("ERR An LFU maxmemory policy is selected, idle time not tracked. Please note " +
		"that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
	errNoLFU = resp.Error("ERR An LFU maxmemory policy is not selected, access frequency not " +
		"tracked. Please note that when switching between policies at runtime LRU and LFU data will take " +
		"some time to adjust.")
	ErrNotInteger = resp.Error("ERR value is not an integer or out of range")
	ErrWrongType  = resp.Error("WRONGTYPE Operation against a key holding the wrong kind of value")
	ErrOOM        = resp.Error("OOM command not allowed when used memory > 'maxmemory'.")
	ErrDBIndex    = resp.Error("ERR DB index is out of range")

	ErrTimeoutInteger  = resp.Error("ERR timeout is not an integer or out of range")
	ErrTimeoutNegative = resp.Error("ERR timeout is negative")

	errSortBy  = resp.Error("ERR BY option of SORT denied due to insufficient ACL permissions.")
	errSortGet = resp.Error("ERR GET option of SORT denied due to insufficient ACL permissions.")

	errNotFloat      = resp.Error("ERR value is not a valid float")
	ErrNoSuchKey     = resp.Error("ERR no such key")
	errOverflow      = resp.Error("ERR increment or decrement would overflow")
	errDecrOverflow  = resp.Error("ERR decrement would overflow")
	errNaNOrInf      = resp.Error("ERR increment would produce NaN or Infinity")
	errOffset        = resp.Error("ERR offset is out of range")
	errStringTooLong = resp.Error("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	errInvalidCursor = resp.Error("ERR invalid cursor")
	ErrNotPositive   = resp.Error("ERR value is out of range, must be positive")
	errLongRange     = resp.Error("ERR value is out of range, value must between -9223372036854775807 " +
		"and 9223372036854775807")
	errValueRange    = resp.Error("ERR value is out of range")
	errFirstDBIndex  = resp.Error("ERR invalid first DB index")
	errSecondDBIndex = resp.Error("ERR invalid second DB index")
	errZAddNXXX      = resp.Error("ERR XX and NX options at the same time are not compatible")
	errZAddGTLTNX    = resp.Error("ERR GT, LT, and/or NX options at the same time are not compatible")
	errZAddIncrPair  = resp.Error("ERR INCR option supports a single increment-element pair")
	errScoreNaN      = resp.Error("ERR resulting score is not a number (NaN)")
	errMinMaxFloat   = resp.Error("ERR min or max is not a float")
	errMinMaxLex     = resp.Error("ERR min or max not valid string range item")
	errLimitNeedsBy  = resp.Error("ERR syntax error, LIMIT is only supported in combination with either " +
		"BYSCORE or BYLEX")
	errScoresWithLex   = resp.Error("ERR syntax error, WITHSCORES not supported in combination with BYLEX")
	errExpireNXOther   = resp.Error("ERR NX and XX, GT or LT options at the same time are not compatible")
	errExpireGTLT      = resp.Error("ERR GT and LT options at the same time are not compatible")
	errIndexOutOfRange = resp.Error("ERR index out of range")
	errTimeoutFloat    = resp.Error("ERR timeout is not a float or out of range")
	errLposRank        = resp.Error("ERR RANK can't be zero: use 1 to start from the first match, 2 from " +
		"the second ... or use negative to start from the end of the list")
	errLposCount    = resp.Error("ERR COUNT can't be negative")
	errLposMaxLen   = resp.Error("ERR MAXLEN can't be negative")
	errBitOffset    = resp.Error("ERR bit offset is not an integer or out of range")
	errBitValue     = resp.Error("ERR bit is not an integer or out of range")
	errBitWanted    = resp.Error("ERR The bit argument must be 1 or 0.")
	errBitNot       = resp.Error("ERR BITOP NOT must be called with a single source key.")
	errBitfieldType = resp.Error("ERR Invalid bitfield type. Use something like i16 u8. Note that u64 " +
		"is not supported but i64 is.")
	errBitfieldFlow  = resp.Error("ERR Invalid OVERFLOW type specified")
	errBitfieldReads = resp.Error("ERR BITFIELD_RO only supports the GET subcommand")
	errIntRange      = resp.Error("ERR value is out of range, value must between -2147483648 and 2147483647")
	errSameObject    = resp.Error("ERR source and destination objects are the same")
	errNumKeys       = resp.Error("ERR numkeys should be greater than 0")
	errTooManyKeys   = resp.Error("ERR Number of keys can't be greater than number of args")
	errCountPositive = resp.Error("ERR count should be greater than 0")
	errSortScores    = resp.Error("ERR One or more scores can't be converted into double")
	errLCSStrings    = resp.Error("ERR The specified keys must contain string values")
	errLCSLenAndIdx  = resp.Error("ERR If you want both the length and indexes, please just use IDX.")
	errLCSTooLong    = resp.Error("ERR String too long for LCS")
	errLCSMemory     = resp.Error("ERR Insufficient memory, transient memory for LCS exceeds " +
		"proto-max-bulk-len")
	errNegativeLimit  = resp.Error("ERR LIMIT can't be negative")
	errWeight         = resp.Error("ERR weight value is not a float")
	errInvalidCommand = resp.Error("ERR Invalid command specified")
	errInvalidArgs    = resp.Error("ERR Invalid number of arguments specified for command")
	errHashNotInteger = resp.Error("ERR hash value is not an integer")
	errHashNotFloat   = resp.Error("ERR hash value is not a float")
	errHashByInfinity = resp.Error("ERR value is NaN or Infinity")
	errBusyKey        = resp.Error("BUSYKEY Target key name already exists.")
	errRestoreTTL     = resp.Error("ERR Invalid TTL value, must be >= 0")
	errRestoreIdle    = resp.Error("ERR Invalid IDLETIME value, must be >= 0")
	errRestoreFreq    = resp.Error("ERR Invalid FREQ value, must be >= 0 and <= 255")
	errDumpFooter     = resp.Error("ERR DUMP payload version or checksum are wrong")
	errDumpFormat     = resp.Error("ERR Bad data format")
	errNoKeys         = resp.Error("ERR The command has no key arguments")
)

// Error replies of the RL commands.
var (
	errRLForeignSet  = resp.Error("ERR key holds a sorted set that RL.ALLOW did not write")
	errRLLimitNumber = resp.Error("ERR limit is not an integer or out of range")
	errRLCostNumber  = resp.Error("ERR COST is not an integer or out of range")

	errRLForeignString  = resp.Error("ERR key holds a string that RL.ALLOW did not write")
	errRLForeignHash    = resp.Error("ERR key holds a hash that RL.ALLOW did not write")
	errRLCostMissing    = syntaxError("COST needs a number")
	errRLAlgoMissing    resp.Value // made from the algorithms
	errRLBurstMissing   = syntaxError("ALGO GCRA needs a burst")
	errRLBurstNumber    = resp.Error("ERR burst is not an integer or out of range")
	errRLBucketsMissing = syntaxError("ALGO BUCKETS needs a number")
	errRLBucketsNumber  = resp.Error("ERR the number of BUCKETS is not an integer or out of range")
	errRLOneQuota       = resp.Error("ERR several limits and windows require ALGO LOG")
	errRLManyQuotas     = resp.Error("ERR the number of limits must be from 1 to " +
		strconv.Itoa(limiter.MaxQuotas))
	errRLNumKeysNumber = resp.Error("ERR numkeys is not an integer or out of range")
	errRLTriples       = resp.Error("ERR numkeys must be at most the number of keys " +
		"given with limit and window")
	errRLRefundNumber   = resp.Error("ERR n is not an integer or out of range")
	errRLRefundNegative = resp.Error("ERR n must not be negative")
	errRLRefundGCRA     = resp.Error("ERR key holds GCRA state, which RL.REFUND does not support")

	errRLAdoptUnit   = syntaxError("BACK needs s, ms, us or ns")
	errRLAdoptScores = resp.Error("ERR key holds a sorted set whose scores are not all unix times of " +
		"1973 to 2255 in s, ms, us or ns")
	errRLAdoptLarge = resp.Error("ERR key holds more than " + strconv.Itoa(MaxAdopted) + " members")

	errRLEstimateNumber = resp.Error("ERR estimate is not an integer or out of range")
	errRLEstimate       = resp.Error("ERR estimate must be at least 1")
	errRLEstimateLarge  = resp.Error("ERR estimate must be at most 1000000")
	errRLActualNumber   = resp.Error("ERR actual is not an integer or out of range")
	errRLActualNegative = resp.Error("ERR actual must not be negative")
	errRLActualLarge    = resp.Error("ERR actual must be at most 1000000 above the estimate")
	errRLForeignHold    = resp.Error("ERR the hold's key holds a string that RL.RESERVE did not write for " +
		"this ID")
	errRLIDEmpty       = resp.Error("ERR ID must not be empty")
	errRLIDLong        = resp.Error("ERR ID must be at most " + strconv.Itoa(maxID) + " bytes")
	errRLMaxNumber     = resp.Error("ERR max is not an integer or out of range")
	errRLMax           = resp.Error("ERR max must not be negative")
	errRLForeignLeases = resp.Error("ERR key holds a sorted set that RL.ACQUIRE did not write")

	errRLTopN          = resp.Error("ERR n must be from 1 to " + strconv.Itoa(MaxTop))
	errRLTopOff        = resp.Error("ERR DENIED and HOT are not counted: CONFIG SET rl-top yes")
	errRLMatchMissing  = syntaxError("MATCH needs a pattern")
	errRLWithinMissing = syntaxError("WITHIN needs a window")
	errRLWithinRange   = resp.Error("ERR WITHIN must be from 1ms to 1h")
	errRLWithinBytes   = resp.Error("ERR WITHIN goes with DENIED and HOT, not with BYTES")

	errRLSimFrom = syntaxError("FROM KEY n or FROM TRACE n must come last")
	errRLSimN    = resp.Error("ERR n must be from 1 to " + strconv.Itoa(MaxSim))
	errRLNoTrace = resp.Error("ERR key is not traced: RL.TRACE ON key n")

	errThrottlePeriodLong = resp.Error("ERR period must be below 100 years")
	errThrottleBurstLong  = resp.Error("ERR max_burst must take less than 100 years to fill")
)

// Error replies of INCREX as in Redis 8.8, except the names of LBOUND and UBOUND.
var (
	errIncrExInt      = resp.Error("ERR Increment is not an integer or out of range")
	errIncrExFloat    = resp.Error("ERR Increment is not a valid float")
	errIncrExByInf    = resp.Error("ERR BYFLOAT increment cannot be Infinity")
	errIncrExInf      = resp.Error("ERR value cannot be Infinity")
	errIncrExBounds   = resp.Error("ERR LBOUND can't be greater than UBOUND")
	errIncrExENX      = resp.Error("ERR ENX flag requires an expiration")
	errIncrExOverflow = resp.Error("ERR applied increment would overflow")
	errIncrExApplied  = resp.Error("ERR applied increment would be Infinity")
	errLBoundInt      = resp.Error("ERR LBOUND is not an integer or out of range")
	errUBoundInt      = resp.Error("ERR UBOUND is not an integer or out of range")
	errLBoundFloat    = resp.Error("ERR LBOUND is not a valid float")
	errUBoundFloat    = resp.Error("ERR UBOUND is not a valid float")
)

// throttleArguments are the errors of CL.THROTTLE's numbers, in their order.
var throttleArguments = [...]struct {
	least         int64
	number, below resp.Value
}{
	{
		-1, resp.Error("ERR max_burst is not an integer or out of range"),
		resp.Error("ERR max_burst must be at least -1"),
	},
	{
		0, resp.Error("ERR count is not an integer or out of range"),
		resp.Error("ERR count must not be negative"),
	},
	{
		1, resp.Error("ERR period is not an integer or out of range"),
		resp.Error("ERR period must be at least 1 second"),
	},
	{
		0, resp.Error("ERR quantity is not an integer or out of range"),
		resp.Error("ERR quantity must not be negative"),
	},
}

// insteadOfLog ends the errors of quotas that are too large for a log.
const insteadOfLog = "; use ALGO BUCKETS or ALGO GCRA for more"

// rlErrors are the replies for package limiter's sentinels.
var rlErrors = []struct {
	err   error
	reply resp.Value
}{
	{limiter.ErrLimit, resp.Error("ERR limit must not be negative")},
	{
		limiter.ErrLimitWindow,
		resp.Error("ERR limit must be at most 1000 per millisecond of its window" + insteadOfLog),
	},
	{
		limiter.ErrWindowSyntax,
		resp.Error("ERR window must be an integer in milliseconds " +
			"or an integer with a unit (ms, s, m, h or d)"),
	},
	{limiter.ErrWindowShort, resp.Error("ERR window must be at least 1 millisecond")},
	{limiter.ErrWindowLong, resp.Error("ERR window must be below 100 years")},
	{limiter.ErrCostNegative, resp.Error("ERR COST must not be negative")},
	{limiter.ErrCostLarge, resp.Error("ERR COST must be at most 1000000" + insteadOfLog)},
	{limiter.ErrInstant, resp.Error("ERR the server's clock is outside the range of a log")},
	{limiter.ErrBurst, resp.Error("ERR burst must not be negative")},
	{limiter.ErrBurstLong, resp.Error("ERR burst must take less than 100 years to fill")},
	{limiter.ErrBuckets, resp.Error("ERR the number of BUCKETS must be from 1 to " +
		strconv.Itoa(limiter.MaxBuckets))},
}

// durationError returns the error of a duration, which has the syntax of a window.
func durationError(name string, err error) resp.Value {
	for _, row := range rlErrors {
		if errors.Is(err, row.err) {
			return resp.Error(strings.Replace(row.reply.Str(), "window", name, 1))
		}
	}
	panic("commands: no reply for " + err.Error())
}

// invalidExpire returns the error of a time to live that is not positive or too large
// for the clock.
func invalidExpire(c *Ctx) resp.Value {
	return resp.Error("ERR invalid expire time in '" + c.Cmd.FullName() + "' command")
}

// prefixFull returns the error of a call that would create one key too many; see
// rl_prefix.go.
func prefixFull(p *store.Prefix) resp.Value {
	return resp.Error("LIMITKEYS prefix " + quoted([]byte(p.Name())) + " has reached its limit of " +
		strconv.FormatInt(p.Max(), 10) + " keys")
}

// unknownOption returns the error of a word that is no option.
func unknownOption(word []byte) resp.Value {
	return resp.Error("ERR Unsupported option " + string(cString(word)))
}

// syntaxError returns a syntax error that says what is wrong.
func syntaxError(what string) resp.Value { return resp.Error("ERR syntax error, " + what) }

// quoted returns an argument as errors show it.
func quoted(arg []byte) string {
	const most = 64
	arg = cString(arg)
	if len(arg) > most {
		return "'" + string(arg[:most]) + "...'"
	}
	return "'" + string(arg) + "'"
}
