package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// An allowCall holds the arguments of RL.ALLOW after the key, or those of RL.MALLOW
// after its keys.
type allowCall struct {
	limiter.Call
	quotas [limiter.MaxQuotas]limiter.Quota
	n      int // number of quotas
	algo   *algorithm
	param  int64 // value of algo.param
	full   bool

	seen optionSet // options given
}

// parse parses and validates the arguments after the key, of which there are two or more.
func (a *allowCall) parse(c *commands.Ctx, args [][]byte, allowed optionSet) resp.Value {
	if refusal := a.parseArgs(args, allowed); refusal.IsError() {
		return refusal
	}
	return a.validate(c)
}

// parseArgs is parse without validation.
func (a *allowCall) parseArgs(args [][]byte, allowed optionSet) resp.Value {
	o := options{args}
	for a.n == 0 || o.more() && parseOption(o.rest[0], allowed) == 0 {
		if refusal := a.appendQuota(&o); refusal.IsError() {
			return refusal
		}
	}
	return a.parseOptions(o, allowed)
}

func (a *allowCall) validate(c *commands.Ctx) resp.Value {
	if !a.algo.multiQuota && a.n > 1 {
		return errOneQuota
	}
	if err := a.algo.validate(c, a); err != nil {
		return rlError(err)
	}
	return resp.None
}

func (a *allowCall) appendQuota(o *options) (refusal resp.Value) {
	limit := o.value()
	if a.n > 0 {
		switch _, number := store.ParseInt(limit); {
		case !number:
			return commands.SyntaxError(commands.Quote(limit) + " is neither a limit nor an option")
		case !o.more():
			return commands.SyntaxError("the limit " + commands.Quote(limit) + " has no window")
		case a.n == len(a.quotas):
			return errManyQuotas
		}
	}
	a.quotas[a.n], refusal = parseQuota(limit, o.value())
	a.n++
	return refusal
}

func parseQuota(limit, window []byte) (q limiter.Quota, refusal resp.Value) {
	var ok bool
	if q.Limit, ok = store.ParseInt(limit); !ok {
		return q, errLimitNumber
	}
	var err error
	if q.WindowMs, err = limiter.ParseWindow(window); err != nil {
		return q, rlError(err)
	}
	return q, resp.None
}

// parseOptions parses the arguments after the limits and windows.
func (a *allowCall) parseOptions(o options, allowed optionSet) resp.Value {
	a.Cost, a.algo = 1, &logAlgorithm
	for r := (optionReader{options: o, allowed: allowed}); r.more(); {
		option, refusal := r.next()
		switch option {
		case optCost:
			a.Cost, refusal = r.number(errCostMissing, errCostNumber)
		case optAtMost:
			a.AtMost = true
		case optPeek:
			a.Peek = true
		case optFull:
			a.full = true
		case optAlgo:
			refusal = a.parseAlgorithm(&r.options)
		}
		if refusal.IsError() {
			return refusal
		}
		a.seen = r.seen
	}
	return resp.None
}

func (a *allowCall) parseAlgorithm(o *options) (refusal resp.Value) {
	if !o.more() {
		return commands.SyntaxError("ALGO needs " + algoAlternatives((*algorithm).syntax))
	}
	name := o.value()
	if a.algo = algorithmByName(name); a.algo == nil {
		return resp.Error("ERR ALGO " + commands.Quote(name) + " is not " +
			algoAlternatives((*algorithm).nameOnly))
	}
	if p := a.algo.param; p != nil {
		a.param, refusal = o.number(p.missing, p.wrong)
	}
	return refusal
}

// allowIsReadOnly reports whether a call of RL.ALLOW changes nothing. It may take a
// value for an option only in calls that fail.
func allowIsReadOnly(args [][]byte) bool { return isPeek(args[4:]) }

func mallowIsReadOnly(args [][]byte) bool {
	n, ok := store.ParseInt(args[1])
	if !ok || n < 1 || n > int64(len(args)-2)/3 {
		return false
	}
	return isPeek(args[2+3*n:])
}

func isPeek(options [][]byte) bool {
	for i, word := range options {
		if commands.EqualFold(word, "peek") ||
			commands.EqualFold(word, "cost") && i+1 < len(options) && string(options[i+1]) == "0" {
			return true
		}
	}
	return false
}
