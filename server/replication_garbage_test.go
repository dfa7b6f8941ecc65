package server_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGarbageInTheStream: a stream that stops being one costs the link, not the copy that came before it, and
// a command that is not held stops the replica for good.
func TestGarbageInTheStream(t *testing.T) {
	t.Parallel()
	head, dump := aDump(t)
	mark := "x" + strings.Repeat("m", 39) // it cannot begin within the copy
	for name, c := range map[string]struct{ stream, why string }{
		"bytes":           {"\x00\xff\x17garbage\r\n", "protocol error"},
		"an error":        {"-ERR no\r\n", "protocol error"},
		"too many words":  {"*99999999\r\n", "protocol error"},
		"a negative word": {"*1\r\n$-5\r\n", "protocol error"},
		"no such command": {"*1\r\n$6\r\nNOSUCH\r\n", "cannot be followed"},
		"a foreign type": {
			"*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\na\r\n$1\r\n1\r\n", "cannot be followed",
		},
		"no argument":      {"*1\r\n$3\r\nSET\r\n", "cannot be followed"},
		"a wrong database": {"*2\r\n$6\r\nSELECT\r\n$2\r\n99\r\n", "cannot be followed"},
		"half":             {"*3\r\n$3\r\nSET\r\n$7\r\nnew:int\r\n$1\r\n", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			replica := f.node(ours)
			replica.fill(t, "SET own v")
			before := "*3\r\n$3\r\nSET\r\n$6\r\nbefore\r\n$1\r\nv\r\n"
			asked := 0
			newMasterSaying(t, func(command string) (string, bool) {
				if command != "psync" {
					return "+OK\r\n", false
				}
				if asked++; asked > 1 {
					return "", false
				}
				send := "$EOF:" + mark + "\r\n" + dump + mark + before + c.stream
				return head + send, name == "half"
			}).follow(t, replica)
			var why string
			f.until(func() bool {
				why = replica.field(t, "master_link_error")
				return why != ""
			}, "no error")
			require.Contains(t, why, c.why)
			require.Equal(t, "down", replica.field(t, "master_link_status"))
			require.Equal(t, "*3\r\n$2\r\n42\r\n$1\r\nv\r\n$-1", replica.do(t, "MGET new:int before own"))
		})
	}
}

// TestPlacesThatCannotBeContinued: a master continues exactly what its backlog has, as redis-server does.
func TestPlacesThatCannotBeContinued(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(k), f.node(k)
		f.follow(replica, master)
		master.fill(t, "SET k v")
		f.caughtUp(replica, master)
		id, at := master.field(t, "master_replid"), master.offset(t)
		for _, c := range []struct{ args, want string }{
			{id + " 1", "+CONTINUE"},
			{strings.ToUpper(id) + " 1", "+CONTINUE"},
			{id + " " + strconv.FormatInt(at+1, 10), "+CONTINUE"},
			{id + " " + strconv.FormatInt(at+1000, 10), "+FULLRESYNC"},
			{id + " 9223372036854775807", "+FULLRESYNC"},
			{id + " 0", "+FULLRESYNC"},
			{id + " -9223372036854775808", "+FULLRESYNC"},
			{id[1:] + " 1", "+FULLRESYNC"},
			{id + "a 1", "+FULLRESYNC"},
			{`"" 1`, "+FULLRESYNC"},
			{"? " + strconv.FormatInt(at+1, 10), "+FULLRESYNC"},
			{id + " x", "-ERR value is not an integer or out of range"},
			{id + " 9223372036854775808", "-ERR value is not an integer or out of range"},
			{id, "-ERR wrong number of arguments for 'psync' command"},
		} {
			w := master.dial(t)
			require.Equal(t, "+OK", doLine(t, w, "REPLCONF capa eof capa psync2"))
			w.sendLine(t, "PSYNC "+c.args)
			require.Contains(t, f.await(w), c.want, c.args)
			require.NoError(t, w.conn.Close())
		}
		f.requireSame(replica, master)
	})
}
