package scenario

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// Play runs each section of the files that match a pattern as a test, by the runner that is made for it.
// words are the directives of the test's own.
func Play(t *testing.T, pattern string, runner func(t *testing.T, s Section) *Runner, words ...string) {
	t.Helper()
	files, err := Glob(pattern, words...)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, s := range f.Sections {
			t.Run(s.Title, func(t *testing.T) {
				for _, fault := range runner(t, s).Run(s).Faults() {
					t.Error(fault)
				}
			})
		}
	}
}

// Answering returns a client of a function, which answers each command at once.
func Answering(answer func(args [][]byte) (reply []byte)) Client {
	return &answering{answer: answer}
}

// AnsweringText returns a client of a function whose answers are texts. Those that begin with "!" are errors.
func AnsweringText(answer func(args [][]byte) string) Client {
	return Answering(func(args [][]byte) []byte {
		text := answer(args)
		if len(text) > 0 && text[0] == '!' {
			return fmt.Appendf(nil, "!%d\r\n%s\r\n", len(text), text)
		}
		return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text)
	})
}

type answering struct {
	answer func(args [][]byte) []byte
	out    []byte
}

// Send implements Client.
func (c *answering) Send(args [][]byte) error {
	c.out = c.answer(args)
	return nil
}

// Reply implements Client.
func (c *answering) Reply() (reply []byte, err error) {
	reply, err = ReadReply(bufio.NewReader(bytes.NewReader(c.out)), nil)
	c.out = c.out[len(reply):]
	return reply, err
}

// SendRaw implements Client.
func (c *answering) SendRaw([]byte) error { return errors.ErrUnsupported }

// Rest implements Client.
func (c *answering) Rest() ([]byte, error) { return nil, errors.ErrUnsupported }

// Unread implements Client.
func (c *answering) Unread() []byte { return c.out }

// Close implements Client.
func (c *answering) Close() error { return nil }
