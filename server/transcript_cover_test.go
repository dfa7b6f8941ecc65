package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// transcriptCommands must have cases, among them one with a wrong arity. CLIENT
// SETINFO and NO-TOUCH are newer than Redis 7.0.
var transcriptCommands = strings.Fields(`
	zadd zrem zcard zcount zscore zmscore zincrby zrank zrevrank zrange zrangebyscore
	zrevrange zrevrangebyscore zremrangebyscore zremrangebyrank zpopmin zpopmax zrandmember zscan
	del unlink exists type expire pexpire expireat pexpireat ttl pttl expiretime pexpiretime
	persist rename renamenx keys scan randomkey touch object|encoding
	get set setex psetex setnx getset getdel getex mget mset msetnx incr decr incrby decrby
	incrbyfloat append strlen getrange setrange
	multi exec discard watch unwatch
	eval evalsha eval_ro evalsha_ro script|load script|exists
	ping echo reset select auth client|id client|setname client|getname client|info client|kill
	client|no-evict client|reply command|count command|getkeys config|get config|set config|resetstat
	time dbsize swapdb cluster|keyslot`)

// transcriptAnyArity are commands that accept any number of arguments, or check it
// themselves.
var transcriptAnyArity = strings.Fields(`
	quit hello client|list command|info command|docs command|list script|flush flushdb flushall shutdown`)

func TestTranscriptsCoverEveryCommand(t *testing.T) {
	named, refused := map[string]bool{}, map[string]bool{}
	wrongArity := regexp.MustCompile(`wrong number of arguments for '([^']+)' command`)
	files, err := filepath.Glob(filepath.Join(transcriptDir, "*.resp2"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range wrongArity.FindAllStringSubmatch(string(text), -1) {
			refused[m[1]] = true
		}
		for _, sec := range readTranscript(t, file).Sections {
			for _, s := range sec.Steps {
				if len(s.Args) > 0 {
					named[strings.ToLower(string(s.Args[0]))] = true
				}
				if len(s.Args) > 1 {
					named[strings.ToLower(string(s.Args[0])+"|"+string(s.Args[1]))] = true
				}
			}
		}
	}
	for _, name := range transcriptCommands {
		require.True(t, named[name], "no case of %s", name)
		require.True(t, refused[name], "no case of %s with a wrong number of arguments", name)
	}
	for _, name := range transcriptAnyArity {
		require.True(t, named[name], "no case of %s", name)
	}
}
