package call

import (
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
)

// dividers divide the limits of commands by a share. They are the commands that ask whether something is
// allowed; docs/gateway.md says why no others are Degradable.
var dividers = map[string]func(args [][]byte, share int64){
	"rl.allow":    divideAllow,
	"rl.mallow":   divideMallow,
	"rl.mreserve": divideTerms,
	"rl.check":    divideTerms,
	"cl.throttle": divideThrottle,
	"rl.throttle": divideThrottle,
	"rl.reserve":  divideReserve,
}

// Degradable reports whether a call is answered without the upstream, if the policy of its key says so. A
// call for slots is not: docs/gateway.md says why.
func Degradable(cmd *commands.Command, args [][]byte) bool {
	return dividers[cmd.Name] != nil && !rl.HasSlots(args)
}

// Divide divides the limits in the arguments of a Degradable command, down to 1. It replaces elements of
// args.
func Divide(cmd *commands.Command, args [][]byte, share int64) { dividers[cmd.Name](args, share) }

// divideAllow divides the limits of RL.ALLOW key limit window [limit window ...] [options].
func divideAllow(args [][]byte, share int64) {
	divideOptions(args, divideQuotas(args, 2, share), share)
}

// divideQuotas divides the limits of pairs of limit and window, and returns what follows them.
func divideQuotas(args [][]byte, at int, share int64) int {
	for at+1 < len(args) && divideOne(args, at, share) {
		at += 2
	}
	return at
}

// divideOptions divides the parameters of algorithms that are units.
func divideOptions(args [][]byte, at int, share int64) {
	for ; at+2 < len(args); at++ {
		if commands.EqualFold(args[at], "algo") && rl.ParamScales(args[at+1]) {
			divideOne(args, at+2, share)
		}
	}
}

// divideTerms divides the limits of numkeys key [key ...] TERM limit window [limit window ...] [options]
// [TERM ...].
func divideTerms(args [][]byte, share int64) {
	n, err := strconv.Atoi(string(args[1]))
	if err != nil || n < 1 || n > len(args)-2 {
		return
	}
	for at := 2 + n; at < len(args); at++ {
		if commands.EqualFold(args[at], "term") {
			divideQuotas(args, at+1, share)
		}
	}
	divideOptions(args, 2+n, share)
}

// divideMallow divides the limits of RL.MALLOW numkeys key limit window [key limit window ...] [options].
func divideMallow(args [][]byte, share int64) {
	if rl.HasTerms(args) {
		divideTerms(args, share)
		return
	}
	n, err := strconv.Atoi(string(args[1]))
	if err != nil {
		return
	}
	for i := 0; i < n && 4+3*i < len(args); i++ {
		divideOne(args, 3+3*i, share)
	}
}

// divideThrottle divides the burst and the count of CL.THROTTLE key max_burst count period [quantity].
func divideThrottle(args [][]byte, share int64) {
	divideOne(args, 2, share)
	divideOne(args, 3, share)
}

// divideReserve divides the limit of RL.RESERVE key limit window estimate [options].
func divideReserve(args [][]byte, share int64) {
	divideOne(args, 2, share)
	divideOptions(args, 5, share)
}

// divideOne divides one argument, down to 1 if it is above 0. It reports whether that is a number.
func divideOne(args [][]byte, at int, share int64) bool {
	n, err := strconv.ParseInt(string(args[at]), 10, 64)
	if err != nil {
		return false
	}
	if n > 0 {
		args[at] = strconv.AppendInt(nil, max(n/share, 1), 10)
	}
	return true
}
