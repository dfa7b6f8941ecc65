package aof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/words"
)

// A manifest lists the files of the log: one base, the incremental files in the order
// of their numbers, and the files that a rewrite replaced and that are to be removed.
// Each takes one line:
//
//	file appendonly.aof.1.base.rdb seq 1 type b
//
// The manifest is replaced as a whole, so a rewrite takes effect in one step.
type manifest struct {
	base    *part
	history []part
	incrs   []part
}

// part is a line of a manifest.
type part struct {
	name string
	seq  int64
	kind byte // b, h or i
}

const (
	kindBase    = 'b'
	kindHistory = 'h'
	kindIncr    = 'i'

	manifestSuffix = ".manifest"
	baseSuffix     = ".base"
	incrSuffix     = ".incr"
	rdbFormat      = ".rdb"
	aofFormat      = ".aof"
	tempPrefix     = "temp-"

	maxManifestLine = 1024
	maxManifest     = 16 << 20
)

// plainName reports whether a name stays in its directory.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00\n\r")
}

func (m *manifest) lastIncr() int64 {
	if n := len(m.incrs); n > 0 {
		return m.incrs[n-1].seq
	}
	return 0
}

func (m *manifest) baseSeq() int64 {
	if m.base == nil {
		return 0
	}
	return m.base.seq
}

// files returns the files that hold the keyspace, in order.
func (m *manifest) files() []part {
	var out []part
	if m.base != nil {
		out = append(out, *m.base)
	}
	return append(out, m.incrs...)
}

func (m *manifest) String() string {
	var b strings.Builder
	line := func(p part) {
		fmt.Fprintf(&b, "file %s seq %d type %c\n", words.Spell(p.name), p.seq, p.kind)
	}
	if m.base != nil {
		line(*m.base)
	}
	for _, p := range m.history {
		line(p)
	}
	for _, p := range m.incrs {
		line(p)
	}
	return b.String()
}

// parseManifest parses a manifest. It allocates in proportion to data.
func parseManifest(data []byte) (manifest, error) {
	var m manifest
	for n := 1; len(data) > 0; n++ {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if !ended || len(line) >= maxManifestLine {
			return m, fmt.Errorf("line %d: too long, or without its end", n)
		}
		data = rest
		if len(line) > 0 && line[0] == '#' {
			continue
		}
		p, err := parsePart(strings.TrimSpace(string(line)))
		if err == nil {
			err = m.add(p)
		}
		if err != nil {
			return m, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if m.base == nil && len(m.incrs) == 0 && len(m.history) == 0 {
		return m, errors.New("empty")
	}
	return m, nil
}

func (m *manifest) add(p part) error {
	switch p.kind {
	case kindBase:
		if m.base != nil {
			return errors.New("a second base")
		}
		m.base = &p
	case kindHistory:
		m.history = append(m.history, p)
	case kindIncr:
		if len(m.incrs) > 0 && p.seq <= m.lastIncr() {
			return errors.New("numbers of incremental files that do not rise")
		}
		m.incrs = append(m.incrs, p)
	default:
		return fmt.Errorf("a file of type %q", string(rune(p.kind)))
	}
	return nil
}

// parsePart parses a line of key-value pairs. Unknown keys are ignored.
func parsePart(line string) (part, error) {
	pairs, ok := words.Split([]byte(line), nil)
	if !ok || len(pairs) < 6 || len(pairs)%2 != 0 {
		return part{}, errors.New("not of the form: file NAME seq NUMBER type TYPE")
	}
	var p part
	for i := 0; i < len(pairs); i += 2 {
		value := string(pairs[i+1])
		switch strings.ToLower(string(pairs[i])) {
		case "file":
			if !plainName(value) {
				return part{}, fmt.Errorf("%q is not a name", value)
			}
			p.name = value
		case "seq":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 1 || n > 1<<62 {
				return part{}, fmt.Errorf("%q is not a number of a file", value)
			}
			p.seq = n
		case "type":
			if len(value) != 1 {
				return part{}, fmt.Errorf("a file of type %q", value)
			}
			p.kind = value[0]
		}
	}
	if p.name == "" || p.seq == 0 || p.kind == 0 {
		return part{}, errors.New("a line without file, seq or type")
	}
	return p, nil
}

// readManifest reads a log's manifest. found is false if there is none.
func readManifest(o Options) (m manifest, found bool, err error) {
	name := o.in(o.Name + manifestSuffix)
	f, err := o.FS.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return m, true, err
	}
	if size > maxManifest {
		return m, true, fmt.Errorf("%w: the manifest %s has %d bytes", ErrDamaged, o.FS.Path(name), size)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return m, true, fmt.Errorf("reading the manifest %s: %w", o.FS.Path(name), err)
	}
	m, err = parseManifest(data)
	if err != nil {
		return m, true, fmt.Errorf("%w: the manifest %s: %w", ErrDamaged, o.FS.Path(name), err)
	}
	return m, true, nil
}

// persist replaces the manifest on disk. After an error a crash may leave either
// manifest, so the files of both must stay.
func (m *manifest) persist(o Options) error {
	name := o.Name + manifestSuffix
	return disk.WriteFile(o.FS, o.in(name), o.in(tempPrefix+name), func(w io.Writer) error {
		_, err := io.WriteString(w, m.String())
		return err
	})
}

// partName returns the name of a base or an incremental file.
func partName(o Options, seq int64, suffix, format string) string {
	return o.Name + "." + strconv.FormatInt(seq, 10) + suffix + format
}
