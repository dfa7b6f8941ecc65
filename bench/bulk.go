package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// bulk sends n commands in batches and fails if a reply is an error. args appends the
// arguments of the i-th command to its slice.
func (s *serverProcess) bulk(ctx context.Context, n int, args func(i int, to []string) []string) error {
	conn, err := net.DialTimeout("tcp", s.address, ioTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	w, r := bufio.NewWriterSize(conn, 1<<16), bufio.NewReaderSize(conn, 1<<16)
	const batch = 500
	var scratch []string
	for from := 0; from < n; from += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := conn.SetDeadline(time.Now().Add(6 * ioTimeout)); err != nil {
			return err
		}
		to := min(from+batch, n)
		for i := from; i < to; i++ {
			scratch = args(i, scratch[:0])
			fmt.Fprintf(w, "*%d\r\n", len(scratch))
			for _, a := range scratch {
				fmt.Fprintf(w, "$%d\r\n%s\r\n", len(a), a)
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for range to - from {
			if _, err := readText(r); err != nil {
				return fmt.Errorf("%s: %w", strings.Join(scratch[:1], ""), err)
			}
		}
	}
	return nil
}
