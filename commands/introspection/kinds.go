package introspection

import (
	"cmp"
	"strings"

	"github.com/zlimit/zlimit/commands"
)

// choiceNames are Redis' names of choices, by their tokens, which follow the name of a
// command if the name differs for that command. Clients show tokens and the names of
// values, not these.
var choiceNames = map[string]string{
	"ASYNC SYNC":              "async",
	"BEFORE AFTER":            "where",
	"BYSCORE BYLEX":           "sortby",
	"BYTE BIT":                "index_unit",
	"SUM MIN MAX":             "aggregate",
	"EX PX EXAT PXAT KEEPTTL": "expiration",
	"FLUSH APPEND REPLACE":    "policy",
	"EX PX EXAT PXAT PERSIST": "expiration",
	"GET ":                    "operation", // a read or a block that writes
	" RESET":                  "operation", // a count or the word
	"GT LT":                   "comparison",
	"ASC DESC":                "order",
	"LEFT RIGHT":              "where",
	"MIN MAX":                 "where",

	"MODULE ACLCAT PATTERN": "filterby",
	"NX XX":                 "condition",
	"NX XX GT LT":           "condition",
	"ON OFF":                "enabled",
	"SET INCRBY":            "write_operation",
	"WRITE ALL":             "mode",
	"YES NO":                "mode",
	"FORCE TAKEOVER":        "options",
	"YES SYNC NO":           "mode",

	"client|tracking: ON OFF":                          "status",
	"cluster|setslot: IMPORTING MIGRATING NODE STABLE": "subcommand",
}

// choicesByToken are the names of choices that a token before them determines.
var choicesByToken = map[string]string{"ALGO": "algorithm"}

// blockNames are Redis' names of blocks that are not named after all their arguments.
var blockNames = map[string]string{
	"start_end_index_unit":          "index",
	"start_end_index":               "index",
	"end_index_unit":                "end_index",
	"wrap_sat_fail_write_operation": "write",
}

func nameOfBlock(members []argument) string {
	name := joinNames(members)
	return cmp.Or(blockNames[name], name)
}

// tokenNames are the names of tokens that are not named as they are written.
var tokenNames = map[string]string{"ALPHA": "sorting", "CH": "change", "INCR": "increment"}

func nameOfToken(token string) string {
	return cmp.Or(tokenNames[token], strings.ToLower(token))
}

func nameOfChoice(command string, members []argument) string {
	tokens := make([]string, len(members))
	for i, m := range members {
		tokens[i] = m.token
	}
	choice := strings.Join(tokens, " ")
	return cmp.Or(choiceNames[command+": "+choice], choiceNames[choice], joinNames(members))
}

func joinNames(arguments []argument) string {
	names := make([]string, len(arguments))
	for i, a := range arguments {
		names[i] = a.name
	}
	return strings.Join(names, "_")
}

// kinds are the types of arguments by name. The default is string.
var kinds = map[string]string{
	"key": "key", "key1": "key", "key2": "key", "newkey": "key", "source": "key", "destination": "key",
	"src": "key", "dst": "key", "destkey": "key",
	"pattern": "pattern",

	"count": "integer", "cursor": "integer", "decrement": "integer", "end": "integer",
	"increment": "integer", "index": "integer", "index1": "integer", "index2": "integer",
	"milliseconds": "integer", "numkeys": "integer", "offset": "integer",
	"seconds": "integer", "start": "integer", "stop": "integer",
	"client-id": "integer", "protover": "integer", "slot": "integer",
	"rank": "integer", "num-matches": "integer", "len": "integer",
	"db": "integer", "destination-db": "integer", "weight": "integer",
	"limit": "integer", "cost": "integer", "n": "integer", "burst": "integer",
	"estimate": "integer", "actual": "integer",
	"bit": "integer", "numreplicas": "integer",
	"start-slot": "integer", "end-slot": "integer", "config-epoch": "integer",
	"max_burst": "integer", "period": "integer", "quantity": "integer",

	"unix-time-seconds": "unix-time", "unix-time-milliseconds": "unix-time",

	"max": "double", "min": "double", "score": "double", "timeout": "double",
}

// kindsByCommand are the types that differ by command, by its full name and that of
// the argument.
var kindsByCommand = map[string]string{
	"acl|genpass bits": "integer",
	"bitfield value":   "integer", "setbit value": "integer",
	"client|pause timeout": "integer",
	"cluster|meet port":    "integer", "cluster|meet cluster_bus_port": "integer",
	"hincrbyfloat increment": "double",
	"incrbyfloat increment":  "double",
	"increx integer":         "integer", "increx float": "double",
	"lolwut version": "integer",
	"rl.acquire max": "integer",
	"restore ttl":    "integer", "restore frequency": "integer",
	"restore-asking ttl": "integer", "restore-asking frequency": "integer",
	"wait timeout": "integer",
	"zrange start": "string", "zrange stop": "string", // a rank, a score or bytes
	"zlexcount min": "string", "zlexcount max": "string",
	"zrangebylex min": "string", "zrangebylex max": "string",
	"zremrangebylex min": "string", "zremrangebylex max": "string",
	"zrangestore min": "string", "zrangestore max": "string",
	"zrevrangebylex min": "string", "zrevrangebylex max": "string",
}

// typeArguments sets the types of values. The keys in the syntax belong to the key
// specifications in their order.
func typeArguments(c *commands.Command, arguments []argument, keys *int) {
	for i := range arguments {
		a := &arguments[i]
		typeArguments(c, a.members, keys)
		if i > 0 && a.name == "where" && arguments[i-1].name == a.name {
			arguments[i-1].name, a.name = "wherefrom", "whereto" // two equal choices side by side
		}
		if a.kind != "string" {
			continue
		}
		kind := cmp.Or(kindsByCommand[c.FullName()+" "+a.name], kinds[a.name])
		if kind == "key" && len(c.Keys) == 0 {
			kind = "" // the name has another meaning here
		}
		if kind != "" {
			a.kind = kind
		}
		if kind == "pattern" && c.Reaches != nil { // it stands for keys
			a.keySpec, *keys = 1, 2
		}
		if kind == "key" {
			a.keySpec = min(*keys, len(c.Keys)-1)
			*keys++
		}
	}
}
