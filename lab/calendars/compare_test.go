package calendars

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/calendar"
)

var (
	instants = flag.Int("instants", 50_000, "how many instants to compare with Python, and with Java")
	seed     = flag.Uint64("seed", 1, "which instants these are")
)

// output runs a program, and returns what it prints.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	var failure bytes.Buffer
	command := exec.Command(program, args...)
	command.Stderr = &failure
	out, err := command.Output()
	require.NoError(t, err, "%v\n%s", command.Args, failure.String())
	return string(out)
}

// requirePrograms skips a test if a program is missing: make test needs Go and nothing else.
func requirePrograms(t *testing.T, programs ...string) {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("make test needs Go and nothing else, and a program to compare with is missing: ", err)
		}
	}
}

// A python is an interpreter with a release of the zones.
type python struct {
	modules string // the directory of its package tzdata
	located map[string]*time.Location
}

// pip returns an interpreter that has pip: python3, or one of a virtual environment, because Debian's python3
// has none.
var pip = sync.OnceValues(func() (interpreter string, err error) {
	if exec.Command("python3", "-m", "pip", "--version").Run() == nil {
		return "python3", nil
	}
	dir, err := os.MkdirTemp("", "calendars")
	if err != nil {
		return "", err
	}
	cleanups = append(cleanups, func() { os.RemoveAll(dir) })
	if out, err := exec.Command("python3", "-m", "venv", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return filepath.Join(dir, "bin/python"), nil
})

var cleanups []func() // of what several tests use

func TestMain(m *testing.M) {
	code := m.Run()
	for _, remove := range cleanups {
		remove()
	}
	os.Exit(code)
}

// installPython installs a release for the test. It skips the test if there is no network.
func installPython(t *testing.T, release string) python {
	t.Helper()
	requirePrograms(t, "python3")
	p := python{modules: t.TempDir(), located: map[string]*time.Location{}}
	// The releases of a year have letters there, and numbers here.
	version := fmt.Sprintf("%s.%d", release[:4], release[4]-'a'+1)
	interpreter, err := pip()
	if err != nil {
		t.Skip("no virtual environment for pip: ", err)
	}
	install := exec.Command(interpreter, "-m", "pip", "install", "-q", "--no-compile",
		"--disable-pip-version-check", "--target", p.modules, "tzdata=="+version)
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("tzdata %s cannot be installed: %v\n%s", version, err, out)
	}
	found, err := p.command("release").Output()
	require.NoError(t, err)
	require.Equal(t, release+"\n", string(found))
	return p
}

// command returns a run of slices.py with no zones but those of the release.
func (p python) command(args ...string) *exec.Cmd {
	command := exec.Command("python3", append([]string{"slices.py"}, args...)...)
	command.Env = append(os.Environ(), "PYTHONTZPATH=", "PYTHONPATH="+p.modules)
	return command
}

func (p python) zones() string { return filepath.Join(p.modules, "tzdata/zoneinfo") }

// locate returns a zone of the release.
func (p python) locate(zone string) (*time.Location, error) {
	if known := p.located[zone]; known != nil {
		return known, nil
	}
	data, err := os.ReadFile(filepath.Join(p.zones(), zone))
	if err != nil {
		return nil, err
	}
	p.located[zone], err = time.LoadLocationFromTZData(zone, data)
	return p.located[zone], err
}

// pack returns the file of the release's zones.
func (p python) pack(t *testing.T, release string) string {
	return output(t, "go", "run", "-pgo=off", "../zones", "-dir", p.zones(), "-release", release)
}

// buildOurs builds the program that answers from package calendar, with the zones of a file if it is not
// empty.
func buildOurs(t *testing.T, zones string) string {
	dir := t.TempDir()
	program, overlay := filepath.Join(dir, "ours"), filepath.Join(dir, "overlay.json")
	replace := map[string]string{}
	if zones != "" {
		theirs := filepath.Join(dir, "zones.bin")
		require.NoError(t, os.WriteFile(theirs, []byte(zones), 0o644))
		pinned, err := filepath.Abs("../../calendar/zones.bin")
		require.NoError(t, err)
		replace[pinned] = theirs
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, data, 0o644))
	output(t, "go", "build", "-pgo=off", "-overlay", overlay, "-o", program, "./ours")
	return program
}

func TestPython(t *testing.T) {
	p := installPython(t, calendar.Release())
	pinned, err := os.ReadFile("../../calendar/zones.bin")
	require.NoError(t, err)
	require.True(t, expand(t, pinned) == expand(t, []byte(p.pack(t, calendar.Release()))),
		"calendar/zones.bin is not what make zones writes")
	compare(t, p, buildOurs(t, ""), p.command())
}

// expand undoes the compression, which another version of Go may do otherwise.
func expand(t *testing.T, data []byte) string {
	release, compressed, _ := bytes.Cut(data, []byte("\n"))
	r, err := zlib.NewReader(bytes.NewReader(compressed))
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(release) + "\n" + string(text)
}

// java returns arguments for a program that takes a second, so that the second compiler does not pay.
func java(args ...string) []string {
	return append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "Slices.java"}, args...)
}

func TestJava(t *testing.T) {
	requirePrograms(t, "java", "javac")
	release := strings.TrimSpace(output(t, "java", java("release")...))
	p := installPython(t, release)
	ours := buildOurs(t, p.pack(t, release))
	require.Equal(t, release+"\n", output(t, ours, "release"))
	compare(t, p, ours, exec.Command("java", java()...))
	t.Logf("zones of the JDK: %s, of package calendar: %s", release, calendar.Release())
}

// compare compares our program's answers with another's, and sees to it that faults are noticed.
func compare(t *testing.T, p python, ours string, theirs *exec.Cmd) {
	queries, err := Queries(*seed, *instants, p.locate)
	require.NoError(t, err)
	want, err := Ask(queries, theirs)
	require.NoError(t, err)
	got, err := Ask(queries, exec.Command(ours))
	require.NoError(t, err)
	bad := 0
	for i, q := range queries {
		if got[i] != want[i] {
			if bad++; bad <= 10 {
				t.Errorf("%s at %v\n got %v\nwant %v", q.Window(),
					time.UnixMilli(q.NowMs).UTC(), got[i].text(), want[i].text())
			}
		}
	}
	t.Logf("%d instants of %d zones: %d answers differ", len(queries), len(Zones), bad)

	for name, plant := range faults {
		wrong, found := plant(t, queries, got, p, ours), 0
		for i := range wrong {
			if wrong[i] != want[i] {
				found++
			}
		}
		require.Positive(t, found, "%s goes unnoticed", name)
		t.Logf("%s: %d answers differ", name, found)
	}
}

func (a Answer) text() string {
	return time.UnixMilli(a.StartMs).UTC().Format(time.RFC3339) + " " +
		time.UnixMilli(a.EndMs).UTC().Format(time.RFC3339)
}

// faults are mistakes in what our program answers.
var faults = map[string]func(t *testing.T, queries []Query, right []Answer, p python, ours string) []Answer{
	"an hour lost in October": func(_ *testing.T, _ []Query, right []Answer, _ python, _ string) []Answer {
		wrong := append([]Answer(nil), right...)
		for i, a := range right {
			if a.EndMs-a.StartMs == 25*3_600_000 && time.UnixMilli(a.EndMs).UTC().Month() == time.October {
				wrong[i].EndMs -= 3_600_000
			}
		}
		return wrong
	},
	"day 31 does not return after a February": func(
		t *testing.T, queries []Query, _ []Answer, _ python, ours string,
	) []Answer {
		changed := append([]Query(nil), queries...)
		for i, q := range changed {
			if q.Unit == "mo" && q.Anchor == "31" && time.UnixMilli(q.NowMs).UTC().Month() > time.February {
				changed[i].Anchor = "28"
			}
		}
		wrong, err := Ask(changed, exec.Command(ours))
		require.NoError(t, err)
		return wrong
	},
	"the second midnight for the first": func(
		t *testing.T, queries []Query, right []Answer, p python, _ string,
	) []Answer {
		wrong := append([]Answer(nil), right...)
		for i, q := range queries {
			zone, err := p.locate(q.Zone)
			require.NoError(t, err)
			const clock = "15:04:05"
			first := time.UnixMilli(right[i].StartMs).In(zone)
			second := first.Add(time.Hour)
			if q.Unit != "h" && first.Format(clock) == second.Format(clock) {
				wrong[i].StartMs = second.UnixMilli()
			}
		}
		return wrong
	},
}
