package commands

import (
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// allowCall is the arguments of RL.ALLOW behind the key, and those of RL.MALLOW
// behind its keys.
type allowCall struct {
	limiter.Call
	quotas [limiter.MaxQuotas]limiter.Quota
	n      int // how many quotas there are
	algo   *algorithm
	param  int64 // what the algorithm's param is
	full   bool
}

// parse reads c's arguments and checks them.
func (a *allowCall) parse(c *Ctx) resp.Value {
	o := options{c.Args[2:]}
	for a.n == 0 || o.more() && optionOf(o.rest[0], allowOptions) == 0 {
		if refusal := a.pair(c, &o); refusal.IsError() {
			return refusal
		}
	}
	if refusal := a.options(o, allowOptions); refusal.IsError() {
		return refusal
	}
	if !a.algo.several && a.n > 1 {
		return errRLOneQuota
	}
	if err := a.algo.validate(c, a); err != nil {
		return rlError(c, err)
	}
	return resp.None
}

// pair reads one limit and window.
func (a *allowCall) pair(c *Ctx, o *options) (refusal resp.Value) {
	limit := o.value()
	if a.n > 0 {
		switch _, number := parseInt(limit); {
		case !number:
			return syntaxError(quoted(limit) + " is neither a limit nor an option")
		case !o.more():
			return syntaxError("the limit " + quoted(limit) + " has no window")
		case a.n == len(a.quotas):
			return errRLManyQuotas
		}
	}
	a.quotas[a.n], refusal = quotaOf(c, limit, o.value())
	a.n++
	return refusal
}

// quotaOf reads a limit and its window.
func quotaOf(c *Ctx, limit, window []byte) (q limiter.Quota, refusal resp.Value) {
	var ok bool
	if q.Limit, ok = parseInt(limit); !ok {
		return q, errRLLimitNumber
	}
	var err error
	if q.WindowMs, err = limiter.ParseWindow(window); err != nil {
		return q, rlError(c, err)
	}
	return q, resp.None
}

// options reads what follows the limits and windows.
func (a *allowCall) options(o options, may optionSet) resp.Value {
	a.Cost, a.algo = 1, &logAlgorithm
	for r := (optionReader{options: o, may: may}); r.more(); {
		option, refusal := r.next()
		switch option {
		case optCost:
			a.Cost, refusal = r.number(errRLCostMissing, errRLCostNumber)
		case optAtMost:
			a.AtMost = true
		case optPeek:
			a.Peek = true
		case optFull:
			a.full = true
		case optAlgo:
			refusal = a.algorithm(&r.options)
		}
		if refusal.IsError() {
			return refusal
		}
	}
	return resp.None
}

// algorithm reads the values of ALGO.
func (a *allowCall) algorithm(o *options) (refusal resp.Value) {
	if !o.more() {
		return errRLAlgoMissing
	}
	name := o.value()
	if a.algo = algoNamed(name); a.algo == nil {
		return resp.Error("ERR ALGO " + quoted(name) + " is not " + algoChoice((*algorithm).title))
	}
	if p := a.algo.param; p != nil {
		a.param, refusal = o.number(p.missing, p.wrong)
	}
	return refusal
}

// allowReads reports whether a call of RL.ALLOW changes nothing. What it takes
// for an option is one, or the call is refused.
func allowReads(args [][]byte) bool { return peeks(args[4:]) }

// mallowReads is allowReads for RL.MALLOW.
func mallowReads(args [][]byte) bool {
	n, ok := parseInt(args[1])
	if !ok || n < 1 || n > int64(len(args)-2)/3 {
		return false
	}
	return peeks(args[2+3*n:])
}

// peeks reports whether PEEK or COST 0 is among options.
func peeks(options [][]byte) bool {
	for i, word := range options {
		if EqualFold(word, "peek") || EqualFold(word, "cost") && i+1 < len(options) && string(options[i+1]) == "0" {
			return true
		}
	}
	return false
}
