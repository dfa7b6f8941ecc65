package disk

import (
	"os"
	"path/filepath"
	"strings"
)

// mountPath spells a path as /proc/self/mountinfo does.
var mountPath = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

// isMountPoint reports whether something is mounted at a path: a file of the host in a container, for
// example.
func isMountPoint(path string) bool {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return false
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	name := mountPath.Replace(filepath.Join(dir, filepath.Base(path)))
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == name {
			return true
		}
	}
	return false
}
