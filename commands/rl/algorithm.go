package rl

import (
	"fmt"
	"slices"
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
	// open sets the content of a term to what the key holds; t.node is nil if it does not exist.
	// A parameter of 0 stands for the state's own. It fails with errOtherState for any other
	// content, and is nil if no call has terms of the algorithm.
	open func(c *commands.Ctx, t *term) (refusal resp.Value)

	// implied returns the parameter that RL.EXPLAIN without ALGO takes, since the state does not
	// record it; nil: it does.
	implied func(t *term) int64

	unknown     string                               // what RL.EXPLAIN omits, and why; "": nothing
	explainMore func(s limiter.Subject) []resp.Value // further pairs of its reply; nil: none

	differs   string                    // of state with other parameters than the call's: theirs and its
	noRefund  resp.Value                // RL.REFUND's reply if it cannot tell which units are the newest
	slots     bool                      // units are slots, each with an owner and a lease
	validHeld func(h *heldTerm) bool    // reports whether a hold can have such a term; nil: any
	replay    func(t *term) replayState // an empty state for RL.SIM; nil: that of open

	// next sets t.d.NextAfterMs, which costs more than the decision; nil: the decision has it.
	next func(c *commands.Ctx, t *term)

	// ALGO accepts the algorithm if validate is not nil. Otherwise the fields of this block are zero.
	validate   func(t *term) error
	errors     []errorReply // for errors of validate that rlErrors does not have
	param      *algoParam   // nil: none
	multiQuota bool         // accepts several limits and windows
	calendar   bool         // accepts windows of the calendar
	throttles  bool         // CL.THROTTLE decides by it

	// anyLimit says that the Lua twin counts with no limit, so that it need not be exact there.
	anyLimit bool

	deciders [numDecides]Decider // the commands with the algorithm
}

// validateQuota is the validate of algorithms without bounds of their own.
func validateQuota(t *term) error { return limiter.ValidateQuota(t.quotas[0], t.Call) }

// inALGO reports whether ALGO accepts the algorithm.
func (a *algorithm) inALGO() bool { return a.validate != nil }

// An algoParam is the number that follows an algorithm's name.
type algoParam struct {
	name           string     // in the syntax
	missing, wrong resp.Value // error replies
	scales         bool       // it is a number of units, as the limit
	steps          bool       // a decision takes as many steps
}

// ParamScales reports whether the number behind an algorithm's name is one of units, as the limit.
func ParamScales(name []byte) bool {
	a := algorithmByName(name)
	return a != nil && a.param != nil && a.param.scales
}

// termAlgorithms lists the algorithms that terms can have, those with open.
var termAlgorithms = []*algorithm{
	&logAlgorithm, &fixedAlgorithm, &gcraAlgorithm, &bucketsAlgorithm, &counterAlgorithm, &leasesAlgorithm,
}

// algorithms lists the algorithms in the order of INFO and error messages. If a key matches several, the
// first applies. HOLD is added because its row reads termAlgorithms.
var algorithms = slices.Insert(slices.Clone(termAlgorithms),
	slices.Index(termAlgorithms, &leasesAlgorithm), &holdAlgorithm)

// defaultAlgorithm is that of calls without ALGO.
var defaultAlgorithm = &logAlgorithm

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
func (a *algorithm) stateError(c *commands.Ctx, n *store.Node, refusal resp.Value) resp.Value {
	if !refusal.IsError() || refusal.Str() != errOtherState.Str() {
		return refusal
	}
	return a.wrongState(c, n)
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

// differ returns the error reply for state with other parameters than the call's.
func (a *algorithm) differ(numbers ...any) resp.Value {
	return resp.Error("ERR key holds " + a.name + " state of " + fmt.Sprintf(a.differs, numbers...))
}

func algorithmByName(name []byte) *algorithm {
	for _, a := range algorithms {
		if a.inALGO() && len(name) == len(a.name) && strings.EqualFold(a.name, string(name)) {
			return a
		}
	}
	return nil
}

// algorithmNamed returns the algorithm with exactly this name, or nil.
func algorithmNamed(name string) *algorithm { return named(algorithms, []byte(name)) }

func named(among []*algorithm, name []byte) *algorithm {
	for _, a := range among {
		if a.name == string(name) {
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
	names := algoNames((*algorithm).inALGO, format)
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// algosWith returns the algorithms that have something as "ALGO A or B".
func algosWith(has func(a *algorithm) bool) string {
	return "ALGO " + strings.Join(algoNames(has, (*algorithm).nameOnly), " or ")
}

// algoComplexity returns a complexity with those of the algorithms that differ, which may be multiplied.
func algoComplexity(complexity, times string) string {
	for _, a := range algorithms {
		if a.param != nil && a.param.steps {
			complexity += ", O(" + times + a.param.name + ") with " + a.syntax()
		}
	}
	return complexity
}

// algoSyntax is the option ALGO.
var algoSyntax = "[ALGO <" + strings.Join(algoNames((*algorithm).inALGO, (*algorithm).syntax), " | ") + ">]"

// algoNames returns format's result for each algorithm that has something.
func algoNames(has func(a *algorithm) bool, format func(a *algorithm) string) (names []string) {
	for _, a := range algorithms {
		if has(a) {
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
