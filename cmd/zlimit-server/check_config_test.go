//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/testca"
)

// TestCheckConfig checks a configuration by --check: exit code, and a line for each error.
func TestCheckConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	conf := filepath.Join(dir, "zlimit.conf")
	put("more.conf", "hz 10\nnosuch 1\n")
	put("users.acl", "user default on nopass ~* &* +@all\n")
	put("bad.acl", "user a +nosuch\nuser b +neither\n")
	ca, err := testca.New("ca")
	require.NoError(t, err)
	_, err = ca.Write(dir, "ca.crt")
	require.NoError(t, err)
	leaf, err := ca.Issue(testca.Leaf{Name: "server"})
	require.NoError(t, err)
	_, _, err = leaf.Write(dir, "server")
	require.NoError(t, err)
	tls := "tls-port 7001\ntls-cert-file " + dir + "/server.crt\ntls-ca-cert-file " + dir + "/ca.crt\n"
	for name, c := range map[string]struct {
		text    string
		options []string
		want    []string // in the lines, one by one
	}{
		"nothing":   {text: ""},
		"good":      {text: "port 7000\ndir " + dir + "\naclfile users.acl\nsave 60 1\n"},
		"tls":       {text: tls + "tls-key-file " + dir + "/server.key\n"},
		"no key":    {text: tls + "tls-key-file " + dir + "/none.key\n", want: []string{"none.key: "}},
		"wrong key": {text: tls + "tls-key-file " + dir + "/ca.crt\n", want: []string{"tls-key-file "}},
		"several errors": {
			text: "prot 7000\nhz many\n# hz few\ninclude " + dir + "/more.conf\ninclude " + dir +
				"/none.conf\ncluster-enabled yes\n",
			want: []string{
				conf + ", line 1: 'prot 7000': Bad directive or wrong number of arguments",
				conf + ", line 2: 'hz many': ",
				dir + "/more.conf, line 2: 'nosuch 1': Bad directive",
				"can't open config file '" + dir + "/none.conf'",
				conf + ", line 6: 'cluster-enabled yes': ",
			},
		},
		"an option": {
			text: "port 1\n", options: []string{"--hz", "x"}, want: []string{`option '--hz "x"': `},
		},
		"options win":   {text: "daemonize yes\n", options: []string{"--daemonize", "no"}},
		"no dir":        {text: "dir " + dir + "/none\n", want: []string{conf + ", line 1: 'dir "}},
		"no aclfile":    {text: "aclfile " + dir + "/none.acl\n", want: []string{"none.acl': No such file"}},
		"aclfile twice": {text: "aclfile " + dir + "/users.acl\nuser a on\n", want: []string{"but not both"}},
		"users": {
			text: "user a on\nuser a off\nuser b +nosuch\n",
			want: []string{", line 2: 'user a off': ", ", line 3: 'user b +nosuch': "},
		},
		"a bad aclfile": {text: "aclfile " + dir + "/bad.acl\n", want: []string{"bad.acl"}},
		"rename": {
			text: "rename-command NOSUCH x\n", want: []string{", line 1: 'rename-command NOSUCH x': "},
		},
		"upstream": {text: "upstream nosuch://x\n", want: []string{"upstream"}},
	} {
		t.Run(name, func(t *testing.T) {
			put("zlimit.conf", c.text)
			var stdout, stderr bytes.Buffer
			code := run(append([]string{"--check", conf}, c.options...), nil, &stdout, &stderr)
			if c.want == nil {
				require.Zero(t, code)
				require.Empty(t, stderr.String())
				require.Equal(t, conf+": no errors\n", stdout.String())
				return
			}
			require.Equal(t, 1, code)
			require.Empty(t, stdout.String())
			lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
			for i, line := range lines {
				require.Contains(t, line, "zlimit-server: ")
				require.Contains(t, line, c.want[min(i, len(c.want)-1)])
			}
			require.GreaterOrEqual(t, len(lines), len(c.want), lines)
			names, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, names, 7, "nothing is written")
		})
	}
	var stderr bytes.Buffer
	require.Equal(t, 1, run([]string{"--check"}, nil, &stderr, &stderr))
	require.Contains(t, stderr.String(), "Usage: ")
	stderr.Reset()
	require.Equal(t, 1, run([]string{"--check", filepath.Join(dir, "none.conf")}, nil, &stderr, &stderr))
	require.Contains(t, stderr.String(), "can't open config file")
}

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
