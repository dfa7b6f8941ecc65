package main

import (
	"os/exec"
	"syscall"
)

// tie binds a server's life to this process. In its own process group it does not get
// the terminal's Ctrl-C, which this process handles. The kernel ends it if this process
// is killed. That signal is bound to the thread that starts the server, which main
// therefore keeps.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
