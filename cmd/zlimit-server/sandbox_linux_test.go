package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A sandbox runs the server under the unit's restrictions on files, made by hand: systemd may not be
// there, and must not touch the machine's own /var/lib. The files are those of a root directory
// of the test's, which the server is confined to. Mounts are made in a namespace of the server's alone.
type sandbox struct {
	unit map[string][]string
	root string
}

// unrestricting are the keys of a unit's section Service that do not change which files a server can write.
// A key that is neither here nor in newSandbox fails the test.
var unrestricting = strings.Fields(`Type NotifyAccess ExecStart ExecReload Restart TimeoutStartSec
	TimeoutStopSec LimitNOFILE AmbientCapabilities CapabilityBoundingSet LockPersonality
	MemoryDenyWriteExecute PrivateDevices ProtectClock ProtectControlGroups ProtectHome ProtectHostname
	ProtectKernelLogs ProtectKernelModules ProtectKernelTunables ProtectProc RemoveIPC
	RestrictAddressFamilies RestrictNamespaces RestrictRealtime RestrictSUIDSGID SystemCallArchitectures
	SystemCallErrorNumber SystemCallFilter Description Documentation Wants After WantedBy`)

// dynamicUser is an account as systemd chooses them for DynamicUser.
const dynamicUser = 61999

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can run a server as another user, with other mounts; CI runs as root")
	}
	for _, tool := range []string{"unshare", "mount", "chroot", "setpriv", "install"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s, and the tests need Go and nothing else", tool)
		}
	}
	if out, err := exec.Command("unshare", "--mount", "--propagation", "private", "true").
		CombinedOutput(); err != nil {
		t.Skipf("this machine permits no namespace of mounts: %s", out)
	}
	b := &sandbox{unit(t), filepath.Join(t.TempDir(), "root")}
	known := append(strings.Fields(`DynamicUser User StateDirectory StateDirectoryMode ConfigurationDirectory
		ProtectSystem ReadWritePaths PrivateTmp UMask NoNewPrivileges`), unrestricting...)
	for key := range b.unit {
		require.Contains(t, known, key, "how does this key change what the server can write?")
	}
	for _, dir := range []string{"dev", "etc", "proc", "run", "tmp", "usr/local/bin", "var/lib"} {
		require.NoError(t, os.MkdirAll(filepath.Join(b.root, dir), 0o755))
	}
	return b
}

// one returns the value of a key that the unit has once, or "".
func (b *sandbox) one(t *testing.T, key string) string {
	t.Helper()
	require.LessOrEqual(t, len(b.unit[key]), 1, key)
	return strings.Join(b.unit[key], "")
}

// path returns the name that a file of the sandbox has outside.
func (b *sandbox) path(name string) string { return filepath.Join(b.root, name) }

// rooted is the beginning of a path in a line of a shell.
var rooted = regexp.MustCompile(`(\s)/(etc|usr|var)/`)

// run carries out lines of a page in the sandbox's files, but for what concerns systemd and Go.
func (b *sandbox) run(t *testing.T, lines string) {
	t.Helper()
	dir := t.TempDir()
	dist, err := filepath.Abs("../../dist")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(dist, filepath.Join(dir, "dist")))
	require.NoError(t, os.Symlink(binary, filepath.Join(dir, "zlimit-server")))
	const without = "set -e\numask 022\nsudo() { \"$@\"; }\ngo() { :; }\nsystemctl() { :; }\n"
	c := exec.Command("sh", "-c", without+rooted.ReplaceAllString(lines, "${1}"+b.root+"/$2/"))
	c.Dir = dir
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s\n%s", lines, out)
}

// shellBlock returns the first block of shell lines below a line of a page.
func shellBlock(t *testing.T, page, below string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), below)
	require.True(t, ok, "%s has no %q", page, below)
	_, rest, ok = strings.Cut(rest, "```sh\n")
	require.True(t, ok, page)
	block, _, ok := strings.Cut(rest, "```")
	require.True(t, ok, page)
	return block
}

func installLines(t *testing.T) string { return shellBlock(t, "../../README.md", "\nUnder systemd, ") }

// configFile returns the path that ExecStart names.
func (b *sandbox) configFile(t *testing.T) string {
	t.Helper()
	return strings.Fields(b.one(t, "ExecStart"))[1]
}

// dataDir returns the directory that ExecStart names.
func (b *sandbox) dataDir(t *testing.T) string {
	t.Helper()
	words := strings.Fields(b.one(t, "ExecStart"))
	return words[slices.Index(words, "--dir")+1]
}

// append appends lines to the configuration, as an operator does.
func (b *sandbox) append(t *testing.T, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(b.path(b.configFile(t)), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// account returns the user that the server runs as.
func (b *sandbox) account(t *testing.T) int {
	t.Helper()
	if name := b.one(t, "User"); name != "" {
		if u, err := user.Lookup(name); err == nil {
			uid, err := strconv.Atoi(u.Uid)
			require.NoError(t, err)
			return uid
		}
		require.Equal(t, "yes", b.one(t, "DynamicUser"), "there is no user %s", name)
	}
	if b.one(t, "DynamicUser") == "yes" {
		return dynamicUser
	}
	return 0
}

// directories makes the unit's directories as systemd does at each start, and returns those that the server
// may write to.
func (b *sandbox) directories(t *testing.T) (writable []string) {
	t.Helper()
	for _, name := range strings.Fields(b.one(t, "ConfigurationDirectory")) {
		require.NoError(t, os.MkdirAll(b.path("/etc/"+name), 0o755)) // its owner stays root
	}
	mode := fs.FileMode(0o755)
	if text := b.one(t, "StateDirectoryMode"); text != "" {
		n, err := strconv.ParseUint(text, 8, 32)
		require.NoError(t, err)
		mode = fs.FileMode(n)
	}
	for _, name := range strings.Fields(b.one(t, "StateDirectory")) {
		dir := "/var/lib/" + name
		if b.one(t, "DynamicUser") == "yes" {
			dir = b.private(t, name)
		}
		require.NoError(t, os.MkdirAll(b.path(dir), mode))
		require.NoError(t, os.Chmod(b.path(dir), mode))
		b.giveAway(t, b.path(dir))
		writable = append(writable, dir)
	}
	for _, dir := range strings.Fields(strings.Join(b.unit["ReadWritePaths"], " ")) {
		optional := strings.HasPrefix(dir, "-")
		dir = strings.TrimPrefix(dir, "-")
		if _, err := os.Stat(b.path(dir)); err == nil || !optional {
			writable = append(writable, dir)
		}
	}
	return writable
}

// private returns the state directory of a dynamic user. One that is there under its public name is moved.
func (b *sandbox) private(t *testing.T, name string) string {
	t.Helper()
	public, dir := b.path("/var/lib/"+name), "/var/lib/private/"+name
	// For others it is closed, and systemd mounts the server's own directories over it.
	require.NoError(t, os.MkdirAll(b.path("/var/lib/private"), 0o755))
	info, err := os.Lstat(public)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return dir
	}
	if err == nil {
		require.NoError(t, os.Rename(public, b.path(dir)))
	}
	require.NoError(t, os.Symlink("private/"+name, public))
	return dir
}

// giveAway makes the account the owner of a tree, unless it has the top of it.
func (b *sandbox) giveAway(t *testing.T, dir string) {
	t.Helper()
	uid := b.account(t)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	if int(info.Sys().(*syscall.Stat_t).Uid) == uid {
		return
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, uid)
	}))
}

// confine is run in a namespace of its own, by a shell, with the root directory, the account and the lists of
// directories that can be written to, and cannot. What follows -- is the server.
const confine = `set -e
root=$1 account=$2 writable=$3 readonly=$4 tmp=$5 mask=$6
shift 7
mount --bind "$root" "$root"
for dir in $writable; do mount --bind "$root$dir" "$root$dir"; done
for dir in $readonly; do
	[ "$dir" = / ] || mount --bind "$root$dir" "$root$dir"
	mount -o remount,bind,ro "$root$dir"
done
mount --bind /proc "$root/proc"
mount --bind /dev "$root/dev"
[ "$tmp" != yes ] || mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
umask "$mask"
exec setpriv --no-new-privs chroot --userspec="$account:$account" --groups= "$root" "$@"`

// start starts the server as the unit does, and waits until it is ready.
func (b *sandbox) start(t *testing.T) *process {
	t.Helper()
	var readonly string
	switch b.one(t, "ProtectSystem") {
	case "strict":
		readonly = "/"
	case "full":
		readonly = "/usr /etc"
	case "yes", "true":
		readonly = "/usr"
	}
	mask := b.one(t, "UMask")
	if mask == "" {
		mask = "0022"
	}
	writable := b.directories(t)
	require.FileExists(t, b.path(b.configFile(t)), "README.md installs none where the unit has it")
	socket := b.path("/run/notify")
	_ = os.Remove(socket) // of the start before
	s := newSupervisor(t, socket)
	require.NoError(t, os.Chmod(socket, 0o777))
	p := prepare(t)
	p.cmd.Path, _ = exec.LookPath("unshare")
	p.cmd.Args = append([]string{
		"unshare", "--mount", "--propagation", "private", "sh", "-c", confine, "sh",
		b.root, strconv.Itoa(b.account(t)), strings.Join(writable, " "), readonly, b.one(t, "PrivateTmp"),
		mask, "--",
	}, strings.Fields(b.one(t, "ExecStart"))...)
	p.cmd.Env = append(os.Environ(), "NOTIFY_SOCKET=/run/notify")
	p.run(t)
	p.readGreeting(t, p.stdout)
	for said := ""; !strings.Contains(said, "READY=1"); said = s.next(t) {
	}
	return p
}

// stop ends the server as systemd does.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	code, said := p.wait(t)
	require.Zero(t, code, "%s%s", said, &p.stderr)
}

// demote makes a server a replica, in the way of Sentinel: a master that comes back after a failover is sent
// this. It returns the replies to SLAVEOF and CONFIG REWRITE.
func demote(t *testing.T, p *process, master string) []string {
	t.Helper()
	c := p.dial(t)
	require.Equal(t, "+OK", c.ask(t, "MULTI"))
	for _, line := range []string{
		"SLAVEOF 127.0.0.1 " + master, "CONFIG REWRITE", "CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub",
	} {
		require.Equal(t, "+QUEUED", c.ask(t, line))
	}
	require.Equal(t, "*4", c.ask(t, "EXEC"))
	return []string{c.line(t), c.line(t)}
}

// role returns the first word of ROLE.
func (p *process) role(t *testing.T) string {
	t.Helper()
	c := p.dial(t)
	c.ask(t, "ROLE")
	require.Regexp(t, `^\$\d+$`, c.line(t))
	return c.line(t)
}

// TestUnitKeepsItsRole fails a server over that is installed as README.md says and runs as the unit says.
// After a restart it must still be a replica: otherwise there are two masters.
func TestUnitKeepsItsRole(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	b.run(t, installLines(t))
	b.append(t, "port "+freePort(t))
	args, _ := anyPort(t)
	master := start(t, args...)
	p := b.start(t)
	require.Equal(t, "master", p.role(t))
	require.Equal(t, []string{"+OK", "+OK"}, demote(t, p, master.port))
	require.Equal(t, "slave", p.role(t))
	p.stop(t)
	b.run(t, installLines(t)) // again, for a new binary
	p = b.start(t)
	require.Equal(t, "slave", p.role(t))
	p.stop(t)
}

// TestUnitSavesUsers does the same with ACL SAVE.
func TestUnitSavesUsers(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	b.run(t, installLines(t))
	b.append(t, "port "+freePort(t))
	b.start(t).stop(t)
	b.append(t, "aclfile users.acl")
	file := b.path(filepath.Join(b.dataDir(t), "users.acl"))
	require.NoError(t, os.WriteFile(file, []byte("user default on nopass ~* &* +@all\n"), 0o600))
	require.NoError(t, os.Chmod(file, 0o644)) // root's, as install -m 644 leaves it
	p := b.start(t)
	c := p.dial(t)
	require.Equal(t, "+OK", c.ask(t, "ACL SETUSER api on nopass ~rl:* +rl.allow"))
	require.Equal(t, "+OK", c.ask(t, "ACL SAVE"))
	require.Equal(t, "+OK", c.ask(t, "CONFIG SET maxclients 100"))
	require.Equal(t, "+OK", c.ask(t, "CONFIG REWRITE"))
	p.stop(t)
	p = b.start(t)
	require.Equal(t, "+OK", p.dial(t).ask(t, "ACL DRYRUN api RL.ALLOW rl:a 1 1000"))
	p.stop(t)
}

// TestUnitUpgrade moves a configuration from where an earlier unit had it, by the lines of the page.
func TestUnitUpgrade(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	b.run(t, "sudo install -D -m 755 zlimit-server /usr/local/bin/zlimit-server")
	require.NoError(t, os.MkdirAll(b.path("/etc/zlimit"), 0o755))
	conf := fmt.Sprintf("port %s\nmaxclients 77\n", freePort(t))
	require.NoError(t, os.WriteFile(b.path("/etc/zlimit/zlimit.conf"), []byte(conf), 0o600))
	for _, dir := range b.directories(t) { // of the earlier unit, with its files
		file := b.path(filepath.Join(dir, "dump.rdb.old"))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		require.NoError(t, os.Chown(file, b.account(t), b.account(t)))
	}
	b.run(t, shellBlock(t, "../../docs/high-availability.md", "\nAn earlier unit "))
	args, _ := anyPort(t)
	master := start(t, args...)
	p := b.start(t)
	c := p.dial(t)
	require.Equal(t, "*2", c.ask(t, "CONFIG GET maxclients"))
	require.Equal(t, []string{"$10", "maxclients", "$2", "77"},
		[]string{c.line(t), c.line(t), c.line(t), c.line(t)})
	require.Equal(t, []string{"+OK", "+OK"}, demote(t, p, master.port))
	p.stop(t)
	p = b.start(t)
	require.Equal(t, "slave", p.role(t))
	p.stop(t)
}

// TestSandbox checks that the sandbox keeps a server from writing elsewhere, and another user's files.
func TestSandbox(t *testing.T) {
	t.Parallel()
	b := newSandbox(t)
	b.run(t, installLines(t))
	dir := b.path("/etc/zlimit")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.Chown(dir, b.account(t), b.account(t)))
	conf := fmt.Sprintf("port %s\n", freePort(t))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "zlimit.conf"), []byte(conf), 0o644))
	start := b.one(t, "ExecStart")
	b.unit["ExecStart"] = []string{strings.Replace(start, b.configFile(t), "/etc/zlimit/zlimit.conf", 1)}
	p := b.start(t)
	require.Equal(t, "-ERR Rewriting config file: Read-only file system", p.dial(t).ask(t, "CONFIG REWRITE"))
	p.stop(t)
	b.unit["ProtectSystem"] = nil
	p = b.start(t)
	require.Equal(t, "+OK", p.dial(t).ask(t, "CONFIG REWRITE"))
	p.stop(t)
	require.NoError(t, os.Chown(dir, 0, 0))
	p = b.start(t)
	require.Equal(t, "-ERR Rewriting config file: Permission denied", p.dial(t).ask(t, "CONFIG REWRITE"))
	p.stop(t)
}
