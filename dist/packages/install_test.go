package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInstallLines follows what is printed when all is built for this machine only, in fresh projects and
// without a registry that has packages of ours.
func TestInstallLines(t *testing.T) {
	installing(t)
	_, printed := hostFrame(t)
	between := func(begin, end string) string {
		_, text, ok := strings.Cut(printed, begin)
		require.True(t, ok, "%s in\n%s", begin, printed)
		text, _, ok = strings.Cut(text, end)
		require.True(t, ok, "%s in\n%s", end, printed)
		return text
	}

	t.Run("python", func(t *testing.T) {
		dir := t.TempDir()
		runIn(t, dir, "python3", "-m", "venv", "env")
		pip := ". env/bin/activate; PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 " +
			strings.TrimSpace(between("\nPython:\n", "\n\n"))
		runIn(t, dir, "sh", "-ec", pip)
		runIn(t, dir, "sh", "-ec", pip) // after another build of the same version
		require.Equal(t, "1\n", runIn(t, dir, "env/bin/python", "-c",
			"import zlimit\nwith zlimit.Server() as s: print(s.allow('k', 1, '1m').allowed)"))
	})
	t.Run("node", func(t *testing.T) {
		dir := t.TempDir()
		runIn(t, dir, "npm", "init", "-y")
		runIn(t, dir, "sh", "-ec", "export npm_config_registry=http://127.0.0.1:1 "+
			"npm_config_fetch_retries=0; "+
			strings.TrimSpace(between("\nNode:\n", "\n\n")))
		require.Equal(t, "1\n", runIn(t, dir, "node", "-e", "const { startServer } = require('zlimit');"+
			"startServer().then(async (s) => {"+
			"console.log((await s.allow('k', 1, '1m')).allowed); await s.close(); })"))
	})
	t.Run("java", func(t *testing.T) {
		dir := t.TempDir()
		firstTest(t, dir)
		pom, err := os.ReadFile(filepath.Join(dir, "pom.xml"))
		require.NoError(t, err)
		dependency := strings.Join(strings.Fields(between("  <dependencies>", "  </dependencies>")), "")
		require.Contains(t, strings.Join(strings.Fields(string(pom)), ""), dependency)
		repositories := "  <repositories>" + between("  <repositories>", "  <dependencies>")
		with := strings.Replace(string(pom), "  <dependencies>", repositories+"  <dependencies>", 1)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "pom.xml"), []byte(with), 0o644))
		mvn, err := newMaven(filepath.Join(dir, "maven"), dir)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(mvn.settings, []byte("<settings/>"), 0o644))
		runFirstTest(t, mvn, dir)
	})
}
