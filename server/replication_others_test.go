package server_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// TestMastersOfOtherReleases: keys of all types that are held come by the copy and by the stream of the
// masters that ORACLE_SERVERS names. Newer ones are refused with the reason.
func TestMastersOfOtherReleases(t *testing.T) {
	t.Parallel()
	programs, err := oracle.Others()
	if err != nil {
		t.Skip(err)
	}
	for _, program := range programs {
		t.Run(filepath.Base(program), func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			f.program = program
			master, replica := f.node(redis), f.node(ours)
			master.fill(t, pairingKeys("copied:")...)
			host, port := master.hostPort()
			require.Equal(t, "+OK", replica.call(t, "REPLICAOF", host, port))
			isValkey := strings.Contains(master.call(t, "INFO", "server"), "valkey_version")
			if !isValkey && oracle.Release(program) > 702 {
				require.Contains(t, f.untilStopped(replica), "version 12 of the format")
				return
			}
			f.caughtUp(replica, master)
			master.fill(t, pairingKeys("streamed:")...)
			for _, line := range pairingEffects {
				switch word, _, _ := strings.Cut(line, " "); word {
				case "FUNCTION", "FCALL": // since 7.0
				case "RESTORE": // not by all from a payload of 7.0
				default:
					master.fill(t, line)
				}
			}
			f.caughtUp(replica, master)
			if isValkey {
				requireSameKeys(t, master, replica)
			} else {
				require.Equal(t, master.call(t, "DEBUG", "DIGEST"), replica.call(t, "DEBUG", "DIGEST"))
			}
			for _, key := range []string{"copied:pxat", "streamed:pxat"} {
				require.Equal(t, ":33000000000123", replica.call(t, "PEXPIRETIME", key))
			}
			require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
			require.Equal(t, "+OK", replica.do(t, "SET own v"))
		})
	}
}

// requireSameKeys compares the keys of database 0 one by one. Valkey writes scores, and with them the digests
// of sorted sets, in another way.
func requireSameKeys(t *testing.T, master, replica *node) {
	t.Helper()
	words := func(n *node, words ...string) (found []string) {
		for i, word := range strings.Split(n.call(t, words...), "\r\n") {
			if i > 0 && i%2 == 0 {
				found = append(found, word)
			}
		}
		return found
	}
	keys := words(master, "KEYS", "*")
	require.NotEmpty(t, keys)
	require.ElementsMatch(t, keys, words(replica, "KEYS", "*"))
	for _, key := range keys {
		if master.call(t, "TYPE", key) != "+zset" {
			same := []string{"DEBUG", "DIGEST-VALUE", key}
			require.Equal(t, master.call(t, same...), replica.call(t, same...), key)
			continue
		}
		scores := []string{"ZRANGE", key, "0", "-1", "WITHSCORES"}
		theirs, own := words(master, scores...), words(replica, scores...)
		require.Len(t, own, len(theirs), key)
		for i := range theirs {
			score, err := strconv.ParseFloat(theirs[i], 64)
			if i%2 == 0 || err != nil {
				require.Equal(t, theirs[i], own[i], key)
				continue
			}
			got, err := strconv.ParseFloat(own[i], 64)
			require.NoError(t, err)
			require.Equal(t, score, got, key)
		}
	}
}
