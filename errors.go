package zlimit

import (
	"errors"
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// ErrClosed is returned by every call after Close.
var ErrClosed = errors.New("zlimit: closed")

// Errors in the arguments of Do.
var (
	errNoCommand = errors.New("zlimit: no command")
	errDuration  = errors.New("a duration that is not whole milliseconds")
)

// Errors in the arguments of Allow that the engine cannot detect.
var (
	errWindow  = Error("ERR window is not a whole number of milliseconds")
	errNoQuota = Error("ERR no quota given")
)

// An Error is an error reply as in the protocol: a code word in capitals and a text.
type Error string

func (e Error) Error() string { return string(e) }

// Code returns the word that clients match: "ERR", "WRONGTYPE", "NOSCRIPT", ...
func (e Error) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// replyError copies an error reply, which is valid only until the session's next command.
func replyError(v resp.Value) Error { return Error(strings.Clone(v.Str())) }
