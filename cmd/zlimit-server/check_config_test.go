//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheckWarns checks a configuration as a user who cannot write to its directory.
func TestCheckWarns(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can run a check as another user; CI runs as root")
	}
	dir, err := os.MkdirTemp("", "zlimit") // others may look into it
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	conf := filepath.Join(dir, "zlimit.conf")
	require.NoError(t, os.WriteFile(conf, []byte("dir "+dir+"\naclfile users.acl\nsave 60 1\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "users.acl"), []byte("user default on\n"), 0o600))
	for _, name := range []string{"zlimit.conf", "users.acl"} {
		require.NoError(t, os.Chmod(filepath.Join(dir, name), 0o644))
	}
	text, err := os.ReadFile(binary)
	require.NoError(t, err)
	server := filepath.Join(dir, "zlimit-server")
	require.NoError(t, os.WriteFile(server, text, 0o600))
	require.NoError(t, os.Chmod(server, 0o755))
	p := prepare(t)
	p.cmd.Path, p.cmd.Args, p.cmd.Dir = server, []string{server, "--check", conf}, dir
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	p.run(t)
	code, said := p.wait(t)
	require.Zero(t, code, &p.stderr)
	require.Equal(t, conf+": no errors\n", said)
	const prefix = "zlimit-server: warning: "
	why := " will fail: write to " + dir + ": permission denied\n"
	require.Equal(t, prefix+"CONFIG REWRITE"+why+prefix+"ACL SAVE"+why+prefix+"saving the keys"+why,
		p.stderr.String())
}
