package commands

import "github.com/zlimit/zlimit/resp"

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

	errSortByInCluster  = resp.Error("ERR BY option of SORT denied in Cluster mode.")
	errSortGetInCluster = resp.Error("ERR GET option of SORT denied in Cluster mode.")

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
	errCopyInCluster = resp.Error("ERR Copying to another database is not allowed in cluster mode")
	errSameObject    = resp.Error("ERR source and destination objects are the same")
	ErrNumKeys       = resp.Error("ERR numkeys should be greater than 0")
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
	errHashNotInteger = resp.Error("ERR hash value is not an integer")
	errHashNotFloat   = resp.Error("ERR hash value is not a float")
	errHashByInfinity = resp.Error("ERR value is NaN or Infinity")
	errBusyKey        = resp.Error("BUSYKEY Target key name already exists.")
	errRestoreTTL     = resp.Error("ERR Invalid TTL value, must be >= 0")
	errRestoreIdle    = resp.Error("ERR Invalid IDLETIME value, must be >= 0")
	errRestoreFreq    = resp.Error("ERR Invalid FREQ value, must be >= 0 and <= 255")
	errDumpFooter     = resp.Error("ERR DUMP payload version or checksum are wrong")
	errDumpFormat     = resp.Error("ERR Bad data format")
)

// Error replies of INCREX as in Redis 8.8, except the names of LBOUND and UBOUND.
var (
	errIncrExInt      = resp.Error("ERR Increment is not an integer or out of range")
	errIncrExFloat    = resp.Error("ERR Increment is not a valid float")
	errIncrExByInf    = resp.Error("ERR BYFLOAT increment cannot be Infinity")
	errIncrExInf      = resp.Error("ERR value cannot be Infinity")
	errIncrExBounds   = resp.Error("ERR LBOUND can't be greater than UBOUND")
	errIncrExENX      = resp.Error("ERR ENX flag requires an expiration")
	ErrIncrExOverflow = resp.Error("ERR applied increment would overflow")
	errIncrExApplied  = resp.Error("ERR applied increment would be Infinity")
	errLBoundInt      = resp.Error("ERR LBOUND is not an integer or out of range")
	errUBoundInt      = resp.Error("ERR UBOUND is not an integer or out of range")
	errLBoundFloat    = resp.Error("ERR LBOUND is not a valid float")
	errUBoundFloat    = resp.Error("ERR UBOUND is not a valid float")
)

// invalidExpire returns the error of a time to live that is not positive or too large
// for the clock.
func invalidExpire(c *Ctx) resp.Value {
	return resp.Error("ERR invalid expire time in '" + c.Cmd.FullName() + "' command")
}

// unknownOption returns the error of a word that is no option.
func unknownOption(word []byte) resp.Value {
	return resp.Error("ERR Unsupported option " + string(cString(word)))
}

// SyntaxError returns a syntax error that says what is wrong.
func SyntaxError(what string) resp.Value { return resp.Error("ERR syntax error, " + what) }

// Quote returns an argument as errors show it.
func Quote(arg []byte) string {
	const most = 64
	arg = cString(arg)
	if len(arg) > most {
		return "'" + string(arg[:most]) + "...'"
	}
	return "'" + string(arg) + "'"
}
