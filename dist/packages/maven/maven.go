package maven

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha1"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
)

// Maven runs with a local repository that has no artifact of ours, and gets these from one
// directory only.
type Maven struct {
	local, settings string
}

// NewMaven prepares a local repository and settings in dir, which is created. Artifacts of
// others come from the user's local repository, which serves as a cache, or from Central.
func NewMaven(dir, artifacts string) (*Maven, error) {
	artifacts, err := filepath.Abs(artifacts)
	if err != nil {
		return nil, err
	}
	m := &Maven{local: filepath.Join(dir, "repository"), settings: filepath.Join(dir, "settings.xml")}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	cache := filepath.Join(home, ".m2", "repository")
	if err := os.MkdirAll(filepath.Join(cache, "io"), 0o755); err != nil {
		return nil, err
	}
	if err := link(cache, m.local, "io"); err != nil {
		return nil, err
	}
	if err := link(filepath.Join(cache, "io"), filepath.Join(m.local, "io"), "zlimit"); err != nil {
		return nil, err
	}
	location := url.URL{Scheme: "file", Path: artifacts}
	return m, os.WriteFile(m.settings, fmt.Appendf(nil, settings, location.String()), 0o644)
}

// settings add the directory of our artifacts, whose URL is the argument.
const settings = `<settings>
  <profiles>
    <profile>
      <id>zlimit</id>
      <repositories>
        <repository>
          <id>zlimit</id>
          <url>%s</url>
          <releases>
            <checksumPolicy>fail</checksumPolicy>
          </releases>
        </repository>
      </repositories>
    </profile>
  </profiles>
  <activeProfiles>
    <activeProfile>zlimit</activeProfile>
  </activeProfiles>
</settings>
`

// link creates the directory to with a link to each entry of from but one.
func link(from, to, except string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == except {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Run runs Maven in a project. The error has its output.
func (m *Maven) Run(ctx context.Context, project string, args ...string) error {
	args = append([]string{"-q", "-B", "-ntp", "-s", m.settings, "-Dmaven.repo.local=" + m.local}, args...)
	cmd := exec.CommandContext(ctx, "mvn", args...)
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "ZLIMIT_SERVER=")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn in %s: %w\n%s", project, err, output)
	}
	return nil
}

// withChecksums returns a file and those of its checksums that Maven looks for.
func withChecksums(path string, content []byte) map[string][]byte {
	return map[string][]byte{
		path:           bytes.Clone(content),
		path + ".md5":  fmt.Appendf(nil, "%x", md5.Sum(content)),
		path + ".sha1": fmt.Appendf(nil, "%x", sha1.Sum(content)),
	}
}
