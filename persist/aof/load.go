package aof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/zlimit/zlimit/persist/disk"
)

// Handler receives what Load reads.
type Handler struct {
	// Apply executes a command, SELECT included. The commands of a group arrive one by
	// one without MULTI and EXEC, which mean nothing without other clients. args are
	// valid during the call.
	Apply func(args [][]byte) error
	// RDB reads a base or a preamble in RDB form and returns the offset of its end.
	RDB func(f io.ReaderAt, size int64) (end int64, err error)
	// Progress, if not nil, is called now and then with the bytes read so far.
	Progress func(done, total int64)
	// Keys, if not nil, returns the keys of a command for the warning about a torn
	// tail; nil means the first argument. It must accept commands that lack arguments.
	Keys func(args [][]byte) [][]byte
}

// Loaded is the result of Load, to be passed to Open.
type Loaded struct {
	Found        bool  // there was a log
	InstantMs    int64 // the latest instant in the log: the clock must not start before it
	Commands     int64
	Bytes        int64 // of all files, without a torn tail
	CutBytes     int64 // length of the torn tail
	man          manifest
	unsynced     string // the incremental file written to last
	unsyncedFrom int64  // offset after which it may not be on disk although it can be read; -1: unknown
}

// Load reads the log of a directory. It also reads the single file of Redis before 7.0,
// which it then moves into the log's directory as a base, as Redis 7.0 does. truncate
// is aof-load-truncated: a torn tail of the last file is truncated with a warning. Any
// other flaw is an error that names the file and the offset, and leaves all files
// unchanged.
//
// When Load fails, some commands may have been applied.
func Load(o Options, truncate bool, h Handler) (*Loaded, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if h.Keys == nil {
		h.Keys = firstArgument
	}
	l := loader{o: o, h: h, truncate: truncate}
	man, found, err := readManifest(o)
	if err != nil {
		return nil, err
	}
	old, err := oldFile(o, man)
	if err != nil {
		return nil, err
	}
	switch {
	case old:
		man, err = l.loadSingle()
	case found:
		err = l.loadManifest(man)
	default:
		err = rejectStrays(o)
	}
	if err != nil {
		return nil, err
	}
	l.Found, l.man = found || old, man
	return &l.Loaded, nil
}

type loader struct {
	Loaded
	o        Options
	h        Handler
	truncate bool
	total    int64 // bytes of all files
}

// oldFile reports whether to read a file of Redis before 7.0: there is no manifest, or
// the move of that file was interrupted.
func oldFile(o Options, man manifest) (bool, error) {
	here, err := disk.Exists(o.FS, o.Name)
	if err != nil || !here {
		return false, err
	}
	if man.base == nil && len(man.incrs) == 0 {
		return true, nil
	}
	if man.base == nil || len(man.incrs) > 0 || man.base.name != o.Name {
		return false, nil
	}
	moved, err := disk.Exists(o.FS, o.in(o.Name))
	return !moved, err
}

// loadSingle reads the single file and moves it into the directory.
func (l *loader) loadSingle() (manifest, error) {
	man := manifest{base: &part{l.o.Name, 1, kindBase}}
	if err := l.loadFiles([]string{l.o.Name}); err != nil {
		return man, err
	}
	l.o.Log(false,
		fmt.Sprintf("Successfully read an old-style AOF %s, moving it into the AOF directory %s.",
			l.o.FS.Path(l.o.Name), l.o.FS.Path(l.o.DirName)))
	err := makeDir(l.o)
	if err == nil {
		err = man.persist(l.o)
	}
	if err == nil {
		err = l.o.FS.Rename(l.o.Name, l.o.in(l.o.Name))
	}
	if err == nil {
		err = l.o.FS.SyncDir(l.o.DirName)
	}
	if err == nil {
		err = l.o.FS.SyncDir(".")
	}
	if err != nil {
		return man, fmt.Errorf("moving the append-only file %s to %s: %w", l.o.FS.Path(l.o.Name),
			l.o.FS.Path(l.o.DirName), err)
	}
	return man, nil
}

// loadManifest reads the files of a manifest.
func (l *loader) loadManifest(man manifest) error {
	var names []string
	for _, p := range man.files() {
		names = append(names, l.o.in(p.name))
	}
	return l.loadFiles(names)
}

// rejectStrays fails if a directory holds data but no manifest. Starting anew there
// would bury the data.
func rejectStrays(o Options) error {
	names, err := o.FS.ReadDir(o.DirName)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, name := range names {
		if _, kind := partOf(o, name); kind == kindIncr {
			if size, err := fileSize(o, name); err != nil || size > 0 {
				return errors.Join(err,
					fmt.Errorf("%w: %s is there and the manifest that should list it is not", ErrDamaged,
						o.FS.Path(o.in(name))))
			}
		}
	}
	return nil
}

// loadFiles reads files in order. Only the last non-empty one may have a torn tail: an
// interrupted rewrite may have listed an empty file after it, and nothing is written to
// a file before the one before it is on disk.
func (l *loader) loadFiles(names []string) error {
	files := make([]disk.File, 0, len(names))
	defer func() {
		for _, f := range files {
			_ = f.Close() // read only
		}
	}()
	last, sizes := 0, make([]int64, len(names))
	for i, name := range names {
		f, err := l.o.FS.Open(name)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: the manifest lists %s, which is not there", ErrDamaged,
					l.o.FS.Path(name))
			}
			return err
		}
		files = append(files, f)
		if sizes[i], err = f.Size(); err != nil {
			return err
		}
		if l.total += sizes[i]; sizes[i] > 0 {
			last = i
		}
	}
	for i, f := range files {
		if err := l.loadFile(names[i], f, sizes[i], i >= last); err != nil {
			return err
		}
	}
	return nil
}

// signature is the beginning of an RDB file.
const signature = "REDIS"

func (l *loader) loadFile(name string, f disk.File, size int64, last bool) error {
	path := l.o.FS.Path(name)
	from := int64(0)
	rdb, err := beginsWith(f, size, signature)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if rdb {
		if l.h.RDB == nil {
			return fmt.Errorf("%s begins in Redis' binary form, which nobody reads here", path)
		}
		if from, err = l.h.RDB(f, size); err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
	}
	rep, err := verify(f, from, size)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if rep.flaw != nil && (!rep.torn || !last || !l.truncate) {
		return damageError(path, rep, last)
	}
	if err := l.apply(path, f, from, rep.ok); err != nil {
		return err
	}
	l.InstantMs = max(l.InstantMs, rep.nowMs)
	l.Bytes += rep.ok
	if last && size > 0 && strings.HasSuffix(name, incrSuffix+aofFormat) {
		l.unsynced, l.unsyncedFrom = name, rep.synced
	}
	l.progress(l.Bytes)
	if rep.flaw == nil {
		return nil
	}
	return l.truncateTorn(name, f, rep)
}

func beginsWith(f io.ReaderAt, size int64, prefix string) (bool, error) {
	if size < int64(len(prefix)) {
		return false, nil
	}
	head := make([]byte, len(prefix))
	_, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Equal(head, []byte(prefix)), nil
}

// damageError returns the error for a flaw that must not be truncated silently.
func damageError(path string, rep report, last bool) error {
	what := "bad file format"
	switch {
	case rep.torn && last:
		what = "the file ends in the middle of a group, and aof-load-truncated is no"
	case rep.torn:
		what = "the file ends in the middle of a group, and is not the last one"
	}
	return fmt.Errorf("%w: %s at offset %d (0x%x): %s: %s; the file is left as it is: make a copy, then "+
		"see zlimit-server --check-aof %s and, to cut it off there, zlimit-server --check-aof %s --fix",
		ErrDamaged, path, rep.flaw.item, rep.flaw.item, what, rep.flaw.text, path, path)
}

// apply executes the commands of a file up to an offset.
func (l *loader) apply(path string, f io.ReaderAt, from, to int64) error {
	r := newReader(f, from, to)
	for {
		it, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		if it.args == nil || isWord(it.args, "multi") || isWord(it.args, "exec") {
			continue
		}
		if err := l.h.Apply(it.args); err != nil {
			return fmt.Errorf("%s at offset %d: the command %.64q: %w", path, it.off, it.args[0], err)
		}
		l.Commands++
		if it.off/progressBytes != it.end/progressBytes {
			l.progress(l.Bytes + it.end)
		}
	}
}

// progressBytes is how often a file's progress is reported.
const progressBytes = 1 << 20

func (l *loader) progress(done int64) {
	if l.h.Progress != nil {
		l.h.Progress(done, l.total)
	}
}

// truncateTorn truncates a torn tail and warns about the keys in it.
func (l *loader) truncateTorn(name string, f io.ReaderAt, rep report) error {
	keys, names, err := describeTail(f, rep.ok, rep.size, l.h.Keys)
	if err != nil {
		return fmt.Errorf("reading %s: %w", l.o.FS.Path(name), err)
	}
	l.CutBytes += rep.size - rep.ok
	about := ""
	if len(names) > 0 {
		about = ": " + strings.Join(names, ", ")
	}
	if keys > len(names) {
		about += ", ..."
	}
	l.o.Log(true,
		fmt.Sprintf("!!! Warning: short read while loading the AOF file %s!!! %s. AOF loaded anyway "+
			"because aof-load-truncated is enabled: truncating it from %d to %d bytes, %d bytes about %d "+
			"key(s) are lost%s",
			l.o.FS.Path(name), rep.flaw.text, rep.size, rep.ok, rep.size-rep.ok, keys, about))
	if err := truncate(l.o.FS, name, rep.ok); err != nil {
		return fmt.Errorf("truncating %s to %d bytes: %w", l.o.FS.Path(name), rep.ok, err)
	}
	return nil
}

func truncate(on disk.FS, name string, size int64) error {
	f, err := on.OpenAppend(name)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
