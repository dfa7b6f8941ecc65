package rl

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// An algorithm is a way to count, and a format for its state in one of Redis' types.
// ALGO, RL.REFUND, RL.INFO and the counts of decisions and keys are all based on its
// fields. A key that another command wrote in the same format is valid state.
type algorithm struct {
	name         string                                       // in ALGO, RL.INFO and errors
	redisType    string                                       // of the state, as TYPE has it
	hasType      func(n *store.Node) bool                     // reports whether a key is of that type
	hasState     func(c *commands.Ctx, n *store.Node) bool    // reports whether one of that type is it
	foreignError resp.Value                                   // for other keys of that type
	info         func(c *commands.Ctx, n *store.Node) keyInfo // for RL.INFO of valid state
	moreInfo     []string                                     // names of keyInfo.more

	// units returns the number of units stored, whether or not they still count. It
	// is nil if the state has no units.
	units func(c *commands.Ctx, n *store.Node) int64
	// refund handles RL.REFUND of count units. If it is nil, RL.REFUND treats the key
	// as foreign.
	refund func(c *commands.Ctx, n *store.Node, count int64) resp.Value

	// subject returns what RL.EXPLAIN explains of a key; n is nil if it does not exist. A
	// parameter of 0 stands for the state's own. It is nil if RL.EXPLAIN refuses the state.
	subject func(c *commands.Ctx, a *allowCall, n *store.Node) (
		s limiter.Subject, expireAtMs int64, refusal resp.Value,
	)
	unknown     string                               // what RL.EXPLAIN omits, and why; "": nothing
	explainMore func(s limiter.Subject) []resp.Value // further pairs of its reply; nil: none

	// allow handles RL.ALLOW. If ALGO does not accept the algorithm, the fields of
	// this block are zero.
	allow         func(c *commands.Ctx, a *allowCall) (limiter.Decision, resp.Value)
	validate      func(c *commands.Ctx, a *allowCall) error
	newState      func(a *allowCall) limiter.State // returns that of an absent key; nil: a log
	param         *algoParam                       // nil: none
	multiQuota    bool                             // accepts several limits and windows
	otherCommands []string                         // further commands that use the algorithm

	// functionArgs returns what the Lua function gets before the cost and the options of callers.
	functionArgs func(l *LimitCall) []int64

	decider Decider // RL.ALLOW with the algorithm
}

// validateQuota is the validate of algorithms without bounds of their own.
func validateQuota(_ *commands.Ctx, a *allowCall) error {
	return limiter.ValidateQuota(a.quotas[0], a.Call)
}

// An algoParam is the number that follows an algorithm's name.
type algoParam struct {
	name           string     // in the syntax
	missing, wrong resp.Value // error replies
	scales         bool       // it is a number of units, as the limit
}

// ParamScales reports whether the number behind an algorithm's name is one of units, as the limit.
func ParamScales(name []byte) bool {
	a := algorithmByName(name)
	return a != nil && a.param != nil && a.param.scales
}

// algorithms lists the algorithms in the order of INFO and error messages. If a key
// matches several, the first applies.
var algorithms = [...]*algorithm{
	&logAlgorithm, &fixedAlgorithm, &gcraAlgorithm, &bucketsAlgorithm, &counterAlgorithm,
	&holdAlgorithm, &leasesAlgorithm,
}

// algorithmOf returns the algorithm whose state the key holds, or nil.
func algorithmOf(c *commands.Ctx, n *store.Node) *algorithm {
	for _, a := range algorithms {
		if a.hasType(n) && a.hasState(c, n) {
			return a
		}
	}
	return nil
}

// errOtherState is what functions of an algorithm return for a key without its state.
// wrongState makes the reply: they must not refer to the list that has the algorithm.
var errOtherState = resp.Error("")

// stateError returns the error reply for a refusal by a function of an algorithm.
func (a *algorithm) stateError(c *commands.Ctx, name []byte, refusal resp.Value) resp.Value {
	if !refusal.IsError() || refusal.Str() != errOtherState.Str() {
		return refusal
	}
	return a.wrongState(c, c.DB.Peek(name, c.NowMs))
}

// wrongState returns the error reply for a key without state of the algorithm.
func (a *algorithm) wrongState(c *commands.Ctx, n *store.Node) resp.Value {
	switch actual := algorithmOf(c, n); {
	case actual != nil:
		return HoldsReply(actual.name, a.name)
	case a.hasType(n):
		return a.foreignError
	}
	return commands.ErrWrongType
}

// foreignKeyError returns the error reply for a key that holds no algorithm's state.
func foreignKeyError(n *store.Node) resp.Value {
	for _, a := range algorithms {
		if a.hasType(n) {
			return a.foreignError
		}
	}
	return commands.ErrWrongType
}

func algorithmByName(name []byte) *algorithm {
	for _, a := range algorithms {
		if a.allow != nil && len(name) == len(a.name) && strings.EqualFold(a.name, string(name)) {
			return a
		}
	}
	return nil
}

func (a *algorithm) syntax() string {
	if a.param == nil {
		return a.name
	}
	return a.name + " " + a.param.name
}

func (a *algorithm) nameOnly() string { return a.name }

// algoAlternatives returns the algorithms that ALGO accepts as "A, B or C".
func algoAlternatives(format func(a *algorithm) string) string {
	names := algoNames(format)
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// algoNames returns format's result for each algorithm that ALGO accepts.
func algoNames(format func(a *algorithm) string) (names []string) {
	for _, a := range algorithms {
		if a.allow != nil {
			names = append(names, format(a))
		}
	}
	return names
}

// keyInfo is RL.INFO's reply. The algorithm sets the fields of its second block.
type keyInfo struct {
	algorithm *algorithm
	bytes     resp.Value // null if unknown
	ttlMs     int64      // -1: none

	used, oldest, newest resp.Value // null if unknown
	more                 [2]int64   // see algorithm.moreInfo
}

func emptyInfo() keyInfo {
	return keyInfo{used: resp.Null, oldest: resp.Null, newest: resp.Null}
}
