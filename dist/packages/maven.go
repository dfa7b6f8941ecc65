package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A maven runs Maven with a local repository that has no artifact of ours, and gets those
// from one directory only.
type maven struct {
	local, settings string
}

// newMaven prepares a local repository and settings in dir, which is created. Artifacts of
// others come from the user's local repository, which serves as a cache, or from Central.
func newMaven(dir, artifacts string) (*maven, error) {
	artifacts, err := filepath.Abs(artifacts)
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	m := &maven{local: filepath.Join(dir, "repository"), settings: filepath.Join(dir, "settings.xml")}
	cache := filepath.Join(home, ".m2", "repository")
	err = errors.Join(
		linkAll(cache, m.local, "io"),
		linkAll(filepath.Join(cache, "io"), filepath.Join(m.local, "io"), "zlimit"),
	)
	if err != nil {
		return nil, err
	}
	return m, os.WriteFile(m.settings, fmt.Appendf(nil, mavenSettings, fileURL(artifacts)), 0o644)
}

// fileURL returns the URL of a path in XML, with the path as it is: Maven 3.8 does not find what is escaped.
func fileURL(path string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte("file://"+path)) // a Builder takes everything
	return out.String()
}

// mavenSettings add the directory of our artifacts, whose URL is the argument.
const mavenSettings = `<settings>
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

// linkAll creates the directory to with a link to each entry of from but one. from need not
// exist.
func linkAll(from, to, except string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// javaOptions are those of JVMs that end before what the optimizing compiler and the verifier of bytecode
// would do pays.
const javaOptions = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions " +
	"-XX:-BytecodeVerificationRemote"

// run runs Maven in a project, with more variables in its environment. The error has Maven's output.
func (m *maven) run(ctx context.Context, project string, env []string, args ...string) error {
	args = append([]string{"-q", "-B", "-ntp", "-s", m.settings, "-Dmaven.repo.local=" + m.local}, args...)
	cmd := exec.CommandContext(ctx, "mvn", args...)
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "ZLIMIT_SERVER=", "MAVEN_OPTS="+os.Getenv("MAVEN_OPTS")+" "+javaOptions)
	cmd.Env = append(cmd.Env, env...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn in %s: %w\n%s", project, err, output)
	}
	return nil
}
