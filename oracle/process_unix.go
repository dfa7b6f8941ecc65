//go:build unix

package oracle

import (
	"os/exec"
	"syscall"
)

// ownGroup makes cmd begin a process group, to which its children belong.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill ends the process of cmd with its children. A child that saves or copies may hang: a
// fork within libfaketime may have its lock.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
