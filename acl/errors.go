package acl

import "errors"

// Why a rule cannot be applied, in Redis' texts.
//
//nolint:staticcheck // Redis' texts
var (
	errUnknownName = errors.New("Unknown command or category name in ACL")
	errSyntax      = errors.New("Syntax error")
	errAllKeys     = errors.New("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid " +
		"and does not have any effect. Try 'resetkeys' to start with an empty list of patterns")
	errAllChannels = errors.New("Adding a pattern after the * pattern (or the 'allchannels' flag) is not " +
		"valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels")
	errNoPassword = errors.New("The password you are trying to remove from the user does not exist")
	errBadHash    = errors.New("The password hash must be exactly 64 characters and contain only " +
		"lowercase hexadecimal characters")
	errSubArgument = errors.New("Allowing first-arg of a subcommand is not supported")
)

// A RuleError says which rule of a list cannot be applied.
type RuleError struct {
	Rule string
	Err  error
}

func (e *RuleError) Error() string { return "'" + e.Rule + "': " + e.Err.Error() }

// Unwrap returns Err.
func (e *RuleError) Unwrap() error { return e.Err }

// An UnmatchedError says that a selector's parenthesis is not closed.
type UnmatchedError struct{ Start string }

func (e *UnmatchedError) Error() string {
	return "Unmatched parenthesis in acl selector starting at '" + e.Start + "'."
}
