package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// limitFiles limits the size of files that a process may write, as a full disk does: a
// write that reaches the limit is cut short, and the next one fails.
func limitFiles(t *testing.T, pid int, bytes uint64) {
	t.Helper()
	const fileSize = 1 // RLIMIT_FSIZE
	limit := syscall.Rlimit{Cur: bytes, Max: ^uint64(0)}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), fileSize,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	require.Zero(t, errno)
}

// TestDiskFull checks that a full disk fails writes but not reads, that writes resume
// by themselves once there is space, and that the file is whole.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"always", "everysec"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			words, _ := anyPort(t)
			words = append(words, "--dir", dir, "--appendonly", "yes", "--appendfsync", mode)
			p := start(t, words...)
			go func() { _, _ = io.Copy(io.Discard, p.stdout) }()
			reader := p.dial(t)
			limitFiles(t, p.cmd.Process.Pid, 5000)

			acked := 0
			refused := ""
			for refused == "" { // connects again if a connection closes without an answer
				c := p.dial(t)
				for i := 0; refused == ""; i++ {
					if _, err := fmt.Fprintf(c, "RPUSH list %d\r\n", acked); err != nil {
						break
					}
					reply, err := c.value()
					if err != nil {
						break
					}
					if isError(reply) {
						refused = reply
					} else {
						acked++
					}
				}
			}
			require.Equal(t, "-MISCONF Errors writing to the AOF file: File too large", refused)
			require.Equal(t, "*5", reader.ask(t, "RL.ALLOW u 5 1m PEEK"))
			for range 5 {
				reader.line(t)
			}
			require.Contains(t, reader.do(t, "INFO persistence"), "aof_last_write_status:err")

			limitFiles(t, p.cmd.Process.Pid, 1<<40)
			again := time.NewTicker(time.Millisecond)
			defer again.Stop()
			for isError(reader.do(t, "INCR recovered")) {
				<-again.C // until the disk is tried again, once a second
			}
			require.Equal(t, "1", reader.do(t, "WAITAOF 1 0 0")[:1])
			held := reader.do(t, "LLEN list")
			p.kill(t)

			p = start(t, words...)
			go func() { _, _ = io.Copy(io.Discard, p.stdout) }()
			c := p.dial(t)
			require.Equal(t, held, c.do(t, "LLEN list"))
			require.Equal(t, "1", c.do(t, "GET recovered"))
			there := make(map[string]bool) // an unacknowledged write may appear twice
			for elem := range strings.FieldsSeq(c.do(t, "LRANGE list 0 -1")) {
				there[elem] = true
			}
			for i := range acked {
				require.True(t, there[fmt.Sprint(i)], "%d was acknowledged", i)
			}
			code, said := runToEnd(t, "--check-aof", dir+"/appendonlydir/appendonly.aof.manifest")
			require.Zero(t, code, said)
		})
	}
}

// do sends a command and returns its reply, retrying after LOADING.
func (c *client) do(t *testing.T, command string) string {
	t.Helper()
	for {
		c.send(t, command+"\r\n")
		reply, err := c.value()
		require.NoError(t, err)
		if !strings.HasPrefix(reply, "-LOADING") {
			return reply
		}
	}
}

// runToEnd runs the command to its end.
func runToEnd(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	out, err := cmd.CombinedOutput()
	if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
