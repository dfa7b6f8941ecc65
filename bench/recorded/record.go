package recorded

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Recording is the calls of scripts on one key, in order.
type Recording struct {
	Scripts []string   // their sources, each once
	Calls   [][]string // commands with their arguments; scripts are called by EVALSHA
	Name    string     // what the arguments contain of the key's name
}

// A Program makes calls on a server.
type Program struct {
	Command []string
	Names   []string // of the key whose calls are recorded: the first that is met counts
	Until   string   // the program is stopped when an argument contains this
	Plain   bool     // other commands on the key are recorded, too
}

const patience = 2 * time.Minute

var errNothing = errors.New("no call of a script on the key was recorded")

// Record runs a program and records, on the server that it uses, the calls on its key.
func Record(ctx context.Context, address string, p Program) (*Recording, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(conn, 1<<20)
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		return nil, err
	}
	if reply, err := lines.ReadString('\n'); err != nil || reply != "+OK\r\n" {
		return nil, errors.Join(err, fmt.Errorf("MONITOR was answered with %q", reply))
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a program may fail at what the server is asked
		close(ended)
		_ = conn.Close() // ends the recording
	}()
	r := &recorder{names: p.Names, until: p.Until, plain: p.Plain, known: map[string]string{}}
	err = r.read(lines)
	cancel()
	<-ended
	if !r.over && err != nil {
		return nil, fmt.Errorf("%w: %w: %s", errNothing, err, output.Bytes()[max(0, output.Len()-500):])
	}
	if len(r.Calls) == 0 {
		return nil, errNothing
	}
	return &r.Recording, nil
}

// A recorder collects calls from lines of MONITOR.
type recorder struct {
	Recording
	names []string // that the key may have
	until string
	plain bool
	known map[string]string // SHA1 of a script that the server has: its source
	over  bool
}

// read reads lines until the end that the program names.
func (r *recorder) read(lines *bufio.Reader) error {
	for !r.over {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if err := r.add(strings.TrimSuffix(strings.TrimPrefix(line, "+"), "\r\n")); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) add(line string) error {
	words, scripted, err := parseLine(line)
	if err != nil || scripted {
		return err
	}
	has := func(part string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, part) })
	}
	if r.over = has(r.until); r.over {
		return nil
	}
	if i := slices.IndexFunc(r.names, has); i >= 0 && r.Name == "" {
		r.Name = r.names[i]
	}
	ours := r.Name != "" && has(r.Name)
	var sha string
	switch name := strings.ToUpper(words[0]); {
	case name == "SCRIPT" && len(words) == 3 && strings.EqualFold(words[1], "LOAD"):
		r.learn(words[2])
		return nil
	case name == "EVAL" && len(words) >= 3:
		sha = r.learn(words[1])
	case name == "EVALSHA" && len(words) >= 3:
		sha = strings.ToLower(words[1])
	default:
		if r.plain && ours {
			r.Calls = append(r.Calls, words)
		}
		return nil
	}
	source, ok := r.known[sha]
	if !ok || !ours { // without a source the server answers NOSCRIPT
		return nil
	}
	if !slices.Contains(r.Scripts, source) {
		r.Scripts = append(r.Scripts, source)
	}
	r.Calls = append(r.Calls, append([]string{"EVALSHA", sha}, words[2:]...))
	return nil
}

func (r *recorder) learn(source string) (sha string) {
	sha = sumOf(source)
	r.known[sha] = source
	return sha
}

func sumOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// ScriptBytes returns the size of the scripts, and how many keys and arguments the largest call has, for a
// report.
func (r *Recording) ScriptBytes() (size, keys, args int) {
	for _, s := range r.Scripts {
		size += len(s)
	}
	for _, c := range r.Calls {
		if c[0] == "EVALSHA" {
			n, _ := strconv.Atoi(c[2])
			keys, args = max(keys, n), max(args, len(c)-3-n)
		}
	}
	return size, keys, args
}
