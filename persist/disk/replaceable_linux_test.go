package disk_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk"
)

// replaceableChild makes the test run itself, in a namespace or as another user, for the path that it has.
const replaceableChild = "ZLIMIT_TEST_REPLACEABLE"

// TestReplaceable compares Replaceable with what ReplaceFile does.
func TestReplaceable(t *testing.T) {
	if path := os.Getenv(replaceableChild); path != "" {
		said := disk.Replaceable(path)
		did := disk.ReplaceFile(disk.OS(filepath.Dir(path)), filepath.Base(path), "temp-f",
			func(w io.Writer) error {
				_, err := io.WriteString(w, "new")
				return err
			})
		var errno syscall.Errno
		require.ErrorAs(t, did, &errno)
		require.ErrorIs(t, said, errno)
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, disk.Replaceable(path), "there is none")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	require.NoError(t, disk.Replaceable(path))
	require.ErrorIs(t, disk.Replaceable(filepath.Join(dir, "none", "f")), syscall.ENOENT)
	if os.Getuid() != 0 {
		t.Skip("only root can run the rest as another user, with other mounts")
	}
	open, err := os.MkdirTemp("", "zlimit") // others may look into it
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(open) })
	self := filepath.Join(open, "test")
	text, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(self, text, 0o755))
	require.NoError(t, os.Chmod(open, 0o755))
	for name, c := range map[string]struct {
		mode    os.FileMode // of the directory
		owner   int         // of it
		file    os.FileMode
		prepare string // by a shell with other mounts
	}{
		"another user's directory": {mode: 0o755, file: 0o666},
		"a directory like /tmp":    {mode: 0o777 | os.ModeSticky, file: 0o666},
		"a read-only mount": {
			mode: 0o755, owner: 65534, file: 0o666,
			prepare: `mount --bind . . && mount -o remount,bind,ro "$PWD"`,
		},
		"a mounted file": {mode: 0o777, file: 0o666, prepare: `cp "f f" g && mount --bind g "f f"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(open, filepath.Base(t.Name()))
			require.NoError(t, os.Mkdir(dir, 0o755))
			require.NoError(t, os.Chown(dir, c.owner, c.owner))
			path := filepath.Join(dir, "f f")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
			require.NoError(t, os.Chmod(path, c.file))
			require.NoError(t, os.Chmod(dir, c.mode))
			run := exec.Command(self, "-test.run", "^TestReplaceable$")
			run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			if c.prepare != "" {
				for _, tool := range []string{"unshare", "mount", "setpriv"} {
					if _, err := exec.LookPath(tool); err != nil {
						t.Skipf("there is no %s", tool)
					}
				}
				run = exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c",
					c.prepare+` && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" `+
						`-test.run '^TestReplaceable$'`,
					self)
				if exec.Command("unshare", "--mount", "true").Run() != nil {
					t.Skip("this machine permits no namespace of mounts")
				}
			}
			run.Dir = dir
			run.Env = append(os.Environ(), replaceableChild+"="+path)
			out, err := run.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
