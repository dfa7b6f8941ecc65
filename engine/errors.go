package engine

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// Error replies of sessions, byte for byte Redis 7.0's.
var (
	errReplicaKeyspace = resp.Error("ERR Replica can't interact with the keyspace")
	errMonitorInExec   = resp.Error("ERR MONITOR isn't allowed for DENY BLOCKING client")

	errLoading    = resp.Error("LOADING Redis is loading the dataset in memory")
	errCanceled   = resp.Error("ERR canceled while the log waits for the disk")
	errNoAuth     = resp.Error("NOAUTH Authentication required.")
	errWrongPass  = resp.Error("WRONGPASS invalid username-password pair or user is disabled.")
	errManyLogins = resp.Error("ERR too many logins from this address have failed, try again in some " +
		"seconds")
	errNoPass = resp.Error("ERR AUTH <password> called without any password configured for the default " +
		"user. Are you sure your configuration is correct?")
	errHelloAuth = resp.Error("NOAUTH HELLO must be called with the client already authenticated, " +
		"otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select " +
		"the RESP protocol version at the same time")
	errNoProto  = resp.Error("NOPROTO unsupported protocol version")
	errProtoNum = resp.Error("ERR Protocol version is not an integer or out of range")

	errDeniedKey = resp.Error("NOPERM this user has no permissions to access one of the keys used as " +
		"arguments")
	errDeniedChannel = resp.Error("NOPERM this user has no permissions to access one of the channels used " +
		"as arguments")

	errNotInMulti          = resp.Error("ERR Command not allowed inside a transaction")
	errNestedMulti         = resp.Error("ERR MULTI calls can not be nested")
	errWatchInMulti        = resp.Error("ERR WATCH inside MULTI is not allowed")
	errExecWithoutMulti    = resp.Error("ERR EXEC without MULTI")
	errDiscardWithoutMulti = resp.Error("ERR DISCARD without MULTI")
	errExecAborted         = resp.Error("EXECABORT Transaction discarded because of previous errors.")

	errIndexRange = resp.Error("ERR value is out of range, value must between -2147483648 and 2147483647")
	errClientName = resp.Error("ERR Client names cannot contain spaces, newlines or special characters.")

	errDebugOff = resp.Error("ERR DEBUG command not allowed. " +
		`If the enable-debug-command option is set to "local", you can run it from a local connection, ` +
		"otherwise you need to set this option in the configuration file, and then restart the server.")
)

// errWhileSubscribed refuses a command on a subscribed connection under RESP2, where
// replies cannot be told from messages.
func errWhileSubscribed(cmd *commands.Command) resp.Value {
	return resp.Error("ERR Can't execute '" + cmd.Own().FullName() +
		"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
}

// withoutCode returns an error's text without the code ERR.
func withoutCode(text string) string { return strings.TrimPrefix(text, "ERR ") }
