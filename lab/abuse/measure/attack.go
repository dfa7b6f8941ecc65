package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zlimit/zlimit/lab/abuse"
)

// attackWord makes the program the attacker's process.
const attackWord = "attack"

// attackerNice is the attackers' priority.
const attackerNice = 5

// attack runs a row until its time is over: row, address, that for TLS, password, size,
// length.
func attack(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("attack: %d arguments", len(args))
	}
	i := slices.IndexFunc(abuse.Rows, func(r abuse.Row) bool { return r.Name == args[0] })
	var target abuse.Target
	if err := json.Unmarshal([]byte(args[1]), &target); i < 0 || err != nil {
		return fmt.Errorf("attack: %q", args)
	}
	length, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, attackerNice) // if it may not, it competes
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	return abuse.Rows[i].Attack(ctx, &target)
}

// An attacker is the process that runs an attack.
type attacker struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

func startAttack(row *abuse.Row, t *abuse.Target, length time.Duration) (*attacker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	target, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	a := &attacker{}
	a.cmd = exec.Command(self, attackWord, row.Name, string(target), length.String())
	a.cmd.Stdout, a.cmd.Stderr = &a.out, &a.out
	return a, a.cmd.Start()
}

// wait returns how the attack has failed, "" if it has not.
func (a *attacker) wait() string {
	if err := a.cmd.Wait(); err != nil {
		return strings.ReplaceAll(strings.TrimSpace(a.out.String()), "\n", "; ")
	}
	return ""
}

func (a *attacker) stop() {
	_ = a.cmd.Process.Kill() // an error means that it has ended
	_ = a.cmd.Wait()
}
