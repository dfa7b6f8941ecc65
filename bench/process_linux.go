package main

import (
	"os/exec"
	"syscall"
)

// tie binds a server's life to ours. In a process group of its own it does not
// get the terminal's Ctrl-C, which is for us to act upon; and the kernel ends
// it should we be killed outright. That signal is bound to the thread that
// starts the server, which main therefore keeps.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
