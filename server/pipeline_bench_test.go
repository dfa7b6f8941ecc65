package server_test

import (
	"bufio"
	"crypto/sha1"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// timestampField is the placeholder in a command for the client's time in
// milliseconds, cutoffField the one for 500 ms before it.
const (
	timestampField = "0000000000000"
	cutoffField    = "0000000000500"
)

// BenchmarkPipelined runs the flows of rate limiters over loopback: 50 connections, and pipelines of 16
// commands (of MULTI: transactions). The CPU profile of the first three is the default.pgo of
// cmd/zlimit-server (make pgo).
func BenchmarkPipelined(b *testing.B) {
	script, err := os.ReadFile("../docs/sliding-window.lua")
	require.NoError(b, err)
	library, err := os.ReadFile("../bench/library.lua")
	require.NoError(b, err)
	evalsha := fmt.Sprintf("*7\r\n$7\r\nEVALSHA\r\n$40\r\n%x\r\n$1\r\n1\r\n%%s"+
		"$13\r\n%s\r\n$3\r\n500\r\n$7\r\n1000000\r\n", sha1.Sum(script), timestampField)
	ofLibrary := fmt.Sprintf("*6\r\n$7\r\nEVALSHA\r\n$40\r\n%x\r\n$1\r\n1\r\n%%s"+
		"$13\r\n%s\r\n$13\r\n[500,1000000]\r\n", sha1.Sum(library), timestampField)
	for _, flow := range []struct {
		name    string
		command string // with a verb for the key
		lines   int    // of its reply
	}{
		{"allow", "*4\r\n$8\r\nRL.ALLOW\r\n%s$6\r\n100000\r\n$3\r\n500\r\n", 6},
		{"evalsha", evalsha, 2},
		{"library", ofLibrary, 2},
		{"multi", "*1\r\n$5\r\nMULTI\r\n" +
			"*4\r\n$4\r\nZADD\r\n%[1]s$13\r\n" + timestampField + "\r\n$13\r\n" + timestampField + "\r\n" +
			"*4\r\n$16\r\nZREMRANGEBYSCORE\r\n%[1]s$1\r\n0\r\n$13\r\n" + cutoffField + "\r\n" +
			"*2\r\n$5\r\nZCARD\r\n%[1]s" +
			"*3\r\n$6\r\nEXPIRE\r\n%[1]s$2\r\n60\r\n" +
			"*1\r\n$4\r\nEXEC\r\n", 10},
	} {
		b.Run(flow.name, func(b *testing.B) {
			srv, err := server.Listen(server.Options{Config: config.New(), FreePort: true})
			require.NoError(b, err)
			go srv.Serve()
			defer srv.Close()
			for _, s := range [][]byte{script, library} {
				_, err = srv.Do(b.Context(), "SCRIPT", "LOAD", s)
				require.NoError(b, err)
			}
			const clients = 50
			var all sync.WaitGroup
			for client := range clients {
				nc, err := net.Dial("tcp", srv.Addr().String())
				require.NoError(b, err)
				defer nc.Close()
				all.Go(func() {
					if err := pipelined(nc, client, flow.command, flow.lines, b.N/clients); err != nil {
						b.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}

// pipelined sends n commands, 16 per write, and advances the client's time by one
// millisecond for each write.
func pipelined(nc net.Conn, client int, command string, lines, n int) error {
	const depth = 16
	var batch []byte
	for i := range depth {
		key := fmt.Sprintf("key:a%011d", (client*7919+i*31)%10000)
		batch = fmt.Appendf(batch, command, fmt.Sprintf("$%d\r\n%s\r\n", len(key), key))
	}
	// The time fields, by their offset before the client's time.
	times := map[int64][][]byte{}
	for _, at := range regexp.MustCompile(`0{10}\d{3}`).FindAllIndex(batch, -1) {
		text := batch[at[0]:at[1]]
		before, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return err
		}
		times[before] = append(times[before], text)
	}
	replies := bufio.NewReaderSize(nc, 1<<16)
	for nowMs := int64(1_700_000_000_000); n > 0; n -= depth {
		nowMs++
		for before, texts := range times {
			for _, text := range texts {
				strconv.AppendInt(text[:0], nowMs-before, 10)
			}
		}
		if _, err := nc.Write(batch); err != nil {
			return err
		}
		for range depth * lines {
			line, err := replies.ReadSlice('\n')
			if err != nil {
				return err
			}
			if line[0] == '-' {
				return fmt.Errorf("error reply: %s", line)
			}
		}
	}
	return nil
}
