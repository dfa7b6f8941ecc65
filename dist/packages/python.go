package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// wheelTags are the platforms that a binary's wheel says it is for. Static binaries run with
// glibc and with musl; the oldest macOS is that of the Go release.
var wheelTags = map[platform]string{
	{"linux", "amd64"}:  "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	{"linux", "arm64"}:  "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	{"darwin", "amd64"}: "macosx_12_0_x86_64",
	{"darwin", "arm64"}: "macosx_12_0_arm64",
}

const wheelMetadata = `Metadata-Version: 2.4
Name: zlimit
Version: %s
%sSummary: A rate-limit server for tests that speaks the Redis protocol, with a clock that the test moves
Project-URL: Source, ` + projectURL + `
Requires-Python: >=3.9
Classifier: Framework :: Pytest
Classifier: Topic :: Software Development :: Testing
Classifier: Typing :: Typed
Provides-Extra: redis
Requires-Dist: redis>=4 ; extra == 'redis'
Description-Content-Type: text/markdown

`

const wheelEntryPoints = `[console_scripts]
zlimit-server = zlimit.__main__:main

[pytest11]
zlimit = zlimit.pytest_plugin
`

// buildPython writes a wheel for each platform, and one without a binary, which pip takes
// elsewhere and which says what there is.
func buildPython(_ context.Context, f *frame) error {
	dir, err := f.folder("python")
	if err != nil {
		return err
	}
	modules, err := f.sources("python/src", func(path string) bool {
		return strings.HasSuffix(path, ".py") || strings.HasSuffix(path, "/py.typed")
	})
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(f.dist, "python", "README.md"))
	if err != nil {
		return err
	}
	if err := f.wheel(dir, "any", modules, readme); err != nil {
		return err
	}
	for _, p := range f.platforms {
		files := append([]file{
			{"zlimit/bin/zlimit-server", f.binaries[p], 0o755}, {"zlimit/bin/" + textsName, f.texts, 0},
		}, modules...)
		if err := f.wheel(dir, wheelTags[p], files, readme); err != nil {
			return err
		}
	}
	return nil
}

// wheel writes a wheel in the format of PyPA's specification 1.0.
func (f *frame) wheel(dir, tags string, files []file, readme []byte) error {
	version := pythonVersion(f.version)
	info := "zlimit-" + version + ".dist-info/"
	var wheel strings.Builder
	fmt.Fprintf(&wheel, "Wheel-Version: 1.0\nGenerator: zlimit\nRoot-Is-Purelib: %v\n", tags == "any")
	for tag := range strings.SplitSeq(tags, ".") {
		fmt.Fprintf(&wheel, "Tag: py3-none-%s\n", tag)
	}
	metadata := fmt.Appendf(nil, wheelMetadata, version, f.owner.wheel())
	files = append(files[:len(files):len(files)],
		file{path: info + "METADATA", content: append(metadata, readme...)},
		file{path: info + "WHEEL", content: []byte(wheel.String())},
		file{path: info + "entry_points.txt", content: []byte(wheelEntryPoints)})
	var record strings.Builder
	for _, part := range files {
		sum := sha256.Sum256(part.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", part.path, base64.RawURLEncoding.EncodeToString(sum[:]),
			len(part.content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	files = append(files, file{path: info + "RECORD", content: []byte(record.String())})
	return writeZip(filepath.Join(dir, "zlimit-"+version+"-py3-none-"+tags+".whl"), files)
}

// pythonVersion returns a version as PEP 440 spells it.
func pythonVersion(version string) string {
	return strings.NewReplacer("-alpha.", "a", "-beta.", "b", "-rc.", "rc").Replace(version)
}
