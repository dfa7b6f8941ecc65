package engine_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/resp"
)

// BenchmarkLogged runs commands without a log, and with one whose file keeps nothing: the difference is
// what recording costs, without the kernel.
func BenchmarkLogged(b *testing.B) {
	for _, line := range []string{
		"RL.ALLOW {key} 100000 60000", "ZADD {key} {now} {now}", "SET {key} sixteen_bytes_ok",
	} {
		for _, log := range []string{"no", "yes"} {
			name, _, _ := strings.Cut(line, " ")
			b.Run(name+"/log-"+log, func(b *testing.B) {
				p := start(b, discarding{disk.OS(b.TempDir())}, "--appendonly", log)
				s := newSession(b, p.Engine)
				const keys = 1000
				var lines [keys][][]byte
				for i := range lines {
					key := "rl:00000:" + strconv.Itoa(1_000_000+i)
					lines[i] = args(strings.ReplaceAll(line, "{key}", key))
				}
				var out []byte
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					p.hands.us.Add(500)
					call := lines[i%keys]
					if log, ok := strings.CutPrefix(line, "ZADD"); ok && log != "" {
						call[2] = strconv.AppendInt(call[2][:0], startNowMs+int64(i), 10)
						call[3] = append(call[3][:0], call[2]...)
					}
					reply := s.Do(call)
					out = resp.Append(out[:0], &reply, s.Proto())
					if i%256 == 0 {
						runtime.Gosched() // to the log's writer
					}
				}
				b.StopTimer()
				require.NoError(b, p.Close())
			})
		}
	}
}

// discarding is a directory whose files keep nothing.
type discarding struct{ disk.FS }

func (d discarding) Create(name string) (disk.File, error) {
	f, err := d.FS.Create(name)
	return sink{f}, err
}

type sink struct{ disk.File }

func (sink) Write(p []byte) (int, error) { return len(p), nil }
