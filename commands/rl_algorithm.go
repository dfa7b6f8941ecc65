package commands

import (
	"strings"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// An algorithm is what a key of the RL commands holds: a way to count, and the
// form in which a key keeps it, in one of the types that Redis has. Everything
// that differs between them is a row, which stands in the file of the algorithm:
// ALGO's options, RL.REFUND, RL.INFO, the counts of decisions and of keys held
// all read it. A key that something else wrote in the same form counts as one.
type algorithm struct {
	name    string                              // as ALGO, RL.INFO and errors have it
	typed   func(n *store.Node) bool            // reports whether a key has the type of Redis that it uses
	holds   func(c *Ctx, n *store.Node) bool    // reports whether a key holds its state
	foreign resp.Value                          // the refusal of a key of that type with something else
	info    func(c *Ctx, n *store.Node) keyInfo // what RL.INFO tells of a key that holds it

	// units returns how many units a key that holds it keeps, whether or not they
	// still count; nil: it keeps none.
	units func(c *Ctx, n *store.Node) int64
	// refund takes back the newest units of the call's key, and answers how many;
	// nil: RL.REFUND refuses the key as foreign.
	refund func(c *Ctx, n *store.Node, count int64) resp.Value

	// allow is RL.ALLOW, and nil where that does not decide by it. What follows
	// is about it.
	allow    func(c *Ctx, a *allowCall) (limiter.Decision, resp.Value)
	validate func(c *Ctx, a *allowCall) error
	param    *algoParam // what ALGO takes behind the name; nil: nothing
	several  bool       // it takes several limits and windows
	also     []string   // further commands that decide by it

	kind    Kind    // of keys that hold it
	decider Decider // RL.ALLOW by it; those of also are the further ones
}

// algoParam is the number that follows an algorithm's name.
type algoParam struct {
	name           string // as in the syntax
	missing, wrong resp.Value
}

// algorithms are the rows, in the order in which INFO and messages list them.
// Where a key could be taken for two of them it is the first.
var algorithms = [...]*algorithm{
	&logAlgorithm, &fixedAlgorithm, &gcraAlgorithm, &bucketsAlgorithm, &counterAlgorithm,
	&holdAlgorithm, &leasesAlgorithm,
}

// known is algorithms for the functions that the rows themselves refer to, which
// may not refer to the rows.
var known []*algorithm

func init() {
	known = algorithms[:]
	numberKinds()
	numberDeciders()
	errRLAlgoMissing = syntaxError("ALGO needs " + algoChoice((*algorithm).syntax))
}

// holder returns the algorithm whose state a key holds, nil where it holds none.
func (c *Ctx) holder(n *store.Node) *algorithm {
	for _, a := range known {
		if a.typed(n) && a.holds(c, n) {
			return a
		}
	}
	return nil
}

// refuseState returns the refusal of a call by the algorithm of a name about a
// key that does not hold that algorithm's state. (The rows refer to functions
// that call it, so that these cannot name a row.)
func (c *Ctx) refuseState(n *store.Node, want string) resp.Value {
	if held := c.holder(n); held != nil {
		return resp.Error("ERR key holds " + held.name + " state, not " + want)
	}
	for _, a := range known {
		if a.name == want && a.typed(n) {
			return a.foreign
		}
	}
	return ErrWrongType
}

// refuseForeign is refuseState for commands that take every algorithm.
func refuseForeign(n *store.Node) resp.Value {
	for _, a := range known {
		if a.typed(n) {
			return a.foreign
		}
	}
	return ErrWrongType
}

// algoNamed returns the algorithm that ALGO calls by a name, nil for none.
func algoNamed(name []byte) *algorithm {
	for _, a := range known {
		if a.allow != nil && len(name) == len(a.name) && strings.EqualFold(a.name, string(name)) {
			return a
		}
	}
	return nil
}

// syntax returns the algorithm's name with what follows it.
func (a *algorithm) syntax() string {
	if a.param == nil {
		return a.name
	}
	return a.name + " " + a.param.name
}

func (a *algorithm) title() string { return a.name }

// algoChoice lists the algorithms that ALGO takes, as "A, B or C".
func algoChoice(spell func(a *algorithm) string) string {
	words := algoWords(spell)
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func algoWords(spell func(a *algorithm) string) (words []string) {
	for _, a := range algorithms {
		if a.allow != nil {
			words = append(words, spell(a))
		}
	}
	return words
}

// keyInfo is what RL.INFO tells of a key besides its algorithm and its TTL.
type keyInfo struct {
	used, oldest, newest resp.Value   // null where the state does not say
	more                 []resp.Value // names and values of the algorithm's own
}

// nullInfo returns a keyInfo that says nothing.
func nullInfo() keyInfo {
	return keyInfo{used: resp.Null, oldest: resp.Null, newest: resp.Null}
}
