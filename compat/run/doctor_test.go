package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

const noted = "*2\r\n" +
	"*16\r\n$7\r\nproblem\r\n$14\r\neval-each-time\r\n$5\r\ncount\r\n:318\r\n$7\r\npattern\r\n$0\r\n\r\n" +
	"$7\r\ncommand\r\n$4\r\neval\r\n" + rest +
	"*16\r\n$7\r\nproblem\r\n$11\r\nmerged-hits\r\n$5\r\ncount\r\n:3\r\n$7\r\npattern\r\n$1\r\n*\r\n" +
	"$7\r\ncommand\r\n$13\r\nzadd (script)\r\n" + rest +
	"+OK\r\n+OK\r\n"

const rest = "$6\r\nclient\r\n$1\r\na\r\n$8\r\nfirst_ms\r\n:1\r\n$7\r\nlast_ms\r\n:2\r\n" +
	"$6\r\nadvice\r\n$5\r\nCall.\r\n"

func TestReadFindings(t *testing.T) {
	want := []string{"eval-each-time by eval", "merged-hits by zadd (script)"}
	if got, err := readFindings(noted); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := readFindings("*0\r\n+OK\r\n+OK\r\n"); err != nil || len(got) != 0 {
		t.Errorf("got %q, %v", got, err)
	}
	for _, replies := range []string{
		"", "+OK\r\n", "+RL.DOCTOR is off\r\n+OK\r\n+OK\r\n", noted[:len(noted)-5],
		strings.Replace(noted, "command", "commend", 1),
	} {
		if got, err := readFindings(replies); err == nil {
			t.Errorf("%q: got %q", replies, got)
		}
	}
}

// TestDiagnosis checks that a finding too many or too few is a row, which fails the run.
func TestDiagnosis(t *testing.T) {
	c := client{name: "lib"}.diagnosed("eval-each-time by eval")
	for _, found := range [][]string{
		nil, {"merged-hits by zadd"}, {"eval-each-time by eval", "merged-hits by zadd"},
	} {
		if rows := diagnosis(c, "lib 1", found, nil); failures(rows) != 1 {
			t.Errorf("%q: got %+v", found, rows)
		}
	}
	if rows := diagnosis(c, "lib 1", nil, io.ErrUnexpectedEOF); failures(rows) != 1 {
		t.Errorf("got %+v", rows)
	}
	if rows := diagnosis(c, "lib 1", c.findings, nil); len(rows) != 0 {
		t.Errorf("got %+v", rows)
	}
}
