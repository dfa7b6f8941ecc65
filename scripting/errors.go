package scripting

// Texts that clients and scripts see, byte for byte as Redis 7.0 sends them.
const (
	errNotInteger   = "ERR value is not an integer or out of range"
	errNegativeKeys = "ERR Number of keys can't be negative"
	errTooManyKeys  = "ERR Number of keys can't be greater than number of args"
	errNoScript     = "NOSCRIPT No matching script. Please use EVAL."
	errNoCluster    = "ERR Can not run script on cluster, 'no-cluster' flag is set."
	errManySlots    = "ERR Script attempted to access a non local key in a cluster node"
	errOtherSlot    = "ERR Script attempted to access keys that do not hash to the same slot"
	errReadOnlyEval = "ERR Can not execute a script with write flag using *_ro command."
	errFlushOption  = "ERR SCRIPT FLUSH only support SYNC|ASYNC option"
	errDebugOption  = "ERR Use SCRIPT DEBUG YES/SYNC/NO"
	errNotBusy      = "NOTBUSY No scripts in execution right now."

	errUnknownCommand = "ERR Unknown Redis command called from script"
	errArity          = "ERR Wrong number of args calling Redis command from script"
	errNotAllowed     = "ERR This Redis command is not allowed from script"
	errStaleReplica   = "ERR Can not execute the command on a stale replica"
	errWrite          = "ERR Write commands are not allowed from read-only scripts."
	errNoArguments    = "ERR Please specify at least one argument for this redis lib call"
	errArgumentType   = "ERR Lua redis lib command arguments must be strings or integers"
	errOneString      = "ERR wrong number or type of arguments"
	errNotLocked      = "ERR internal error: the script uses a key that was not locked for it"
	errStackLimit     = "ERR reached lua stack limit"

	errKilled      = "Script killed by user with SCRIPT KILL..."
	errLoadTimeout = "FUNCTION LOAD timeout"
	errNoMemory    = "not enough memory"
	errUnkillable  = "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command." //nolint:lll // Redis' text

	errNoLibraryMeta      = "ERR Missing library metadata"
	errLibraryShebang     = "ERR Invalid library metadata"
	errNoLibraryName      = "ERR Library name was not given"
	errLibraryNameTwice   = "ERR Invalid metadata value, name argument was given multiple times"
	errLibraryMetaValue   = "ERR Invalid metadata value given: "
	errName               = "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long" //nolint:lll // Redis' text
	errLibraryExists      = "ERR Library '%s' already exists"
	errLibraryMemory      = "ERR the libraries would hold %d bytes, and lua-memory-limit is %d"
	errLibraryCollides    = "ERR Library %s already exists"
	errFunctionCollides   = "ERR Function %s already exists"
	errNoEngine           = "ERR Engine '%s' not found"
	errRegistering        = "ERR Error registering functions: "
	errCompiling          = "ERR Error compiling function: "
	errRegisterLate       = "ERR redis.register_function can only be called on FUNCTION LOAD command"
	errNoFunctions        = "ERR No functions registered"
	errNoLibrary          = "ERR Library not found"
	errNoFunction         = "ERR Function not found"
	errNumKeys            = "ERR Bad number of keys provided"
	errLoadOption         = "ERR Unknown option given: "
	errListArgument       = "ERR Unknown argument "
	errListName           = "ERR library name argument was not given"
	errFunctionFlush      = "ERR FUNCTION FLUSH only supports SYNC|ASYNC option"
	errFunctionSubcommand = "ERR unknown subcommand or wrong number of arguments for '%s'. Try FUNCTION HELP."
	errRestorePolicy      = "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE."
	errDumpFooter         = "ERR DUMP payload version or checksum are wrong"
	errDumpType           = "ERR given type is not a function"
	errDumpLoad           = "ERR Failed loading library payload"
	errSameFunction       = "ERR Function already exists in the library"

	errRegisterCount     = "ERR wrong number of arguments to redis.register_function"
	errRegisterSingle    = "ERR calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments)." //nolint:lll // Redis' text
	errRegisterName      = "ERR first argument to redis.register_function must be a string"
	errRegisterCallback  = "ERR second argument to redis.register_function must be a function"
	errRegisterKey       = "ERR named argument key given to redis.register_function is not a string"
	errRegisterUnknown   = "ERR unknown argument given to redis.register_function"
	errRegisterNameType  = "ERR function_name argument given to redis.register_function must be a string"
	errRegisterText      = "ERR description argument given to redis.register_function must be a string"
	errRegisterFunction  = "ERR callback argument given to redis.register_function must be a function"
	errRegisterFlags     = "ERR flags argument to redis.register_function must be a table representing function flags" //nolint:lll // Redis' text
	errRegisterFlag      = "ERR unknown flag given"
	errRegisterNoName    = "ERR redis.register_function must get a function name argument"
	errRegisterNoHandler = "ERR redis.register_function must get a callback argument"

	errSHA1Arguments = "ERR wrong number of arguments"
	errLogArguments  = "ERR redis.log() requires two arguments or more."
	errLogLevelType  = "ERR First argument must be a number (log level)."
	errLogLevel      = "ERR Invalid debug level."
)

// busyReplies are the replies to clients while a script or a function is past
// busy-reply-threshold.
var busyReplies = [...]string{
	runScript:   "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
	runFunction: "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.",
}
