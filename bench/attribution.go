package main

import "strings"

// A rule attributes functions whose names begin with prefix to a part. Names of this
// module are without its path.
type rule struct {
	prefix string
	part   part
}

// whole attributes every stack that such a function is in, whatever it calls.
var whole = []rule{
	{"engine.(*Session).ReadAhead", lookupPart},
	{"server.(*Server).cron", otherPart},
	{"engine.(*Engine).Tick", otherPart},
	{"runtime/pprof.", otherPart},
	{"runtime.gcBgMarkWorker", runtimePart},
	{"runtime.gcAssistAlloc", runtimePart},
	{"runtime.bgsweep", runtimePart},
	{"runtime.bgscavenge", runtimePart},
	{"runtime.mallocgc", runtimePart},
}

// own attributes the innermost function of a stack that it knows. The longest prefix
// counts. What it does not know, as copying, hashing, and numbers in text, is work of
// who calls it.
var own = []rule{
	{"internal/runtime/syscall", kernelPart},
	{"syscall.", kernelPart},
	{"runtime.futex", kernelPart},
	{"runtime.madvise", kernelPart},
	{"runtime.usleep", kernelPart},
	{"runtime.osyield", kernelPart},

	{"server.", wirePart},
	{"net.", wirePart},
	{"internal/poll.", wirePart},
	{"crypto/", wirePart},
	{"bufio.", wirePart},
	{"github.com/tidwall/redcon.", wirePart},
	{"server.(*conn).appendReply", encodingPart},
	{"resp.", encodingPart},
	{"resp.Decode", wirePart},

	{"engine", dispatchPart},
	{"acl.", dispatchPart},
	{"clock.", dispatchPart},
	{"zlimit.", dispatchPart},
	{"upstream", dispatchPart},
	{"commands.(*Table)", dispatchPart},
	{"commands.(*Command)", dispatchPart},
	{"commands.(*Ctx)", dispatchPart},
	{"store.(*Store)", dispatchPart},
	{"store.(*shardLock)", dispatchPart},
	{"store.(*lockWaiter)", dispatchPart},
	{"store.ShardOf", dispatchPart},

	{"store", lookupPart}, // the keyspace: keys, deadlines, memory, dirtiness
	{"store/dict.", lookupPart},
	{"store/expire.", lookupPart},

	{"commands", decisionPart},
	{"limiter", decisionPart},
	{"store/bitmap.", decisionPart},
	{"store/decimal.", decisionPart},
	{"store/hash.", decisionPart},
	{"store/list.", decisionPart},
	{"store/set.", decisionPart},
	{"store/zset.", decisionPart},

	{"scripting", scriptsPart},

	{"runtime.mcall", runtimePart},
	{"runtime.systemstack", runtimePart},
	{"runtime.gcWriteBarrier", runtimePart},
	{"runtime.wbBufFlush", runtimePart},
	{"runtime.newstack", runtimePart},
}

// attribute returns the part that a stack belongs to, and the function that says most
// about it: in the kernel the one that called it, elsewhere the one that a rule knows.
func attribute(frames []string) (part, string) {
	names := make([]string, len(frames))
	for i, name := range frames {
		names[i] = plainName(name)
	}
	for _, r := range whole {
		for _, name := range names {
			if strings.HasPrefix(name, r.prefix) {
				return r.part, name
			}
		}
	}
	for i, name := range names {
		switch p := partOf(name); p {
		case "":
		case kernelPart:
			for _, caller := range names[i+1:] {
				if q := partOf(caller); q != "" && q != kernelPart {
					return kernelPart, caller
				}
			}
			return kernelPart, name
		default:
			return p, name
		}
	}
	if strings.HasPrefix(names[len(names)-1], "runtime.") {
		return runtimePart, names[0]
	}
	return otherPart, names[0]
}

// underLock reports whether a function runs commands with their shards locked.
func underLock(frame string) bool { return plainName(frame) == "engine.keyspace.executeIn" }

// partOf returns the part of a function by itself, "" if no rule knows it.
func partOf(name string) part {
	var best rule
	for _, r := range own {
		if len(r.prefix) > len(best.prefix) && strings.HasPrefix(name, r.prefix) {
			best = r
		}
	}
	return best.part
}

// plainName returns a function's name without the module's path and without the types
// that a generic one was made for.
func plainName(name string) string {
	if open, end := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']'); open >= 0 && end > open {
		name = name[:open] + name[end+1:]
	}
	const path = "github.com/zlimit/"
	if rest, ok := strings.CutPrefix(name, path+"zlimit/"); ok {
		return rest
	}
	return strings.TrimPrefix(name, path)
}
