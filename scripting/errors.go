package scripting

// Texts that clients and scripts see, byte for byte as Redis 7.0 sends them.
const (
	errNotInteger   = "ERR value is not an integer or out of range"
	errNegativeKeys = "ERR Number of keys can't be negative"
	errTooManyKeys  = "ERR Number of keys can't be greater than number of args"
	errNoScript     = "NOSCRIPT No matching script. Please use EVAL."
	errReadOnlyEval = "ERR Can not execute a script with write flag using *_ro command."
	errFlushOption  = "ERR SCRIPT FLUSH only support SYNC|ASYNC option"
	errDebugOption  = "ERR Use SCRIPT DEBUG YES/SYNC/NO"
	errNotBusy      = "NOTBUSY No scripts in execution right now."

	errUnknownCommand = "ERR Unknown Redis command called from script"
	errArity          = "ERR Wrong number of args calling Redis command from script"
	errNotAllowed     = "ERR This Redis command is not allowed from script"
	errWrite          = "ERR Write commands are not allowed from read-only scripts."
	errNoArguments    = "ERR Please specify at least one argument for this redis lib call"
	errArgumentType   = "ERR Lua redis lib command arguments must be strings or integers"
	errOneString      = "ERR wrong number or type of arguments"
	errNotLocked      = "ERR internal error: the script uses a key that was not locked for it"
	errStackLimit     = "ERR reached lua stack limit"

	errKilled     = "Script killed by user with SCRIPT KILL..."
	errNoMemory   = "not enough memory"
	errUnkillable = "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."
)

// busyReplies are what clients get while a script or a function is past
// busy-reply-threshold.
var busyReplies = [...]string{
	runScript:   "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	runFunction: "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
}
