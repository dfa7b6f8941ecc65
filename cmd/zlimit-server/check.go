package main

import (
	"fmt"
	"io"
	"time"

	"github.com/zlimit/zlimit/engine/durable"
)

// check handles --check-aof and --check-rdb. done is false if the command line has
// neither.
func check(args []string, stdout, stderr io.Writer) (code int, done bool) {
	if len(args) == 0 || args[0] != "--check-aof" && args[0] != "--check-rdb" {
		return 0, false
	}
	nowMs := time.Now().UnixMilli()
	sound := false
	switch {
	case args[0] == "--check-rdb" && len(args) == 2:
		sound = durable.CheckRDB(stdout, args[1], nowMs)
	case args[0] == "--check-aof" && len(args) == 2:
		sound = durable.CheckAOF(stdout, args[1], false, nowMs)
	case args[0] == "--check-aof" && len(args) == 3 && args[2] == "--fix":
		sound = durable.CheckAOF(stdout, args[1], true, nowMs)
	case args[0] == "--check-aof" && len(args) == 3 && args[1] == "--fix":
		sound = durable.CheckAOF(stdout, args[2], true, nowMs)
	default:
		fmt.Fprintln(stderr,
			"Usage: zlimit-server --check-aof FILE [--fix]\n       zlimit-server --check-rdb FILE")
	}
	if !sound {
		code = 1
	}
	return code, true
}
