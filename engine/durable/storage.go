package durable

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/store"
)

// Options configures a Storage. Fields are required unless they say otherwise.
type Options struct {
	Config *config.View // its owner ends it
	Clock  *clock.Clock
	Store  *store.Store

	// Disk is the directory of the files. If it is nil, nothing is kept.
	Disk disk.FS

	// Chdir returns the directory that CONFIG SET dir names. If it is nil, dir
	// cannot be changed.
	Chdir func(dir string) disk.FS

	// Delay waits us microseconds, for key-load-delay and rdb-key-save-delay. If
	// it is nil, they have no effect.
	Delay func(us int64)

	// Pause yields the processor for a moment; see aof.Options. It may be nil.
	Pause func()

	// Turn lets everything run that has arrived; see engine.Options. It may be nil.
	Turn func()

	// Log is the server's log.
	Log *slog.Logger

	// Took is called with an event of LATENCY and how many microseconds it took: to write
	// to the log, to sync it under appendfsync always, or to begin a snapshot with every
	// shard locked. It may be called concurrently.
	Took func(event string, us int64)

	// Record makes the engine record changes in j, or stop if j is nil. It is
	// called with every shard locked.
	Record func(j *Journal)

	// LockAll locks every shard. It reports false, and locks none, if a script
	// past busy-reply-threshold is in the way.
	LockAll func() bool

	// Torn reports whether a shard holds half of what a script was to do. It is
	// called with every shard locked.
	Torn func() bool

	// Libraries returns the source of each function library. It is called with
	// every shard locked.
	Libraries func() []string
	// CheckLibrary returns why a function library cannot be loaded, or nil.
	CheckLibrary func(source string) error

	// History returns the place in replication's history that the keys stand for, and Continue is
	// called when files were loaded that stand for one. Both are called with every shard locked.
	History  func() (h History, ok bool)
	Continue func(h History)

	// Table, Settings and Replay are for loading: the command table, the settings
	// that commands run with, and the context of a session without a client.
	Table    func() *commands.Table
	Settings func() *commands.Settings
	Replay   func() *commands.Ctx
}

// A History is a place in replication's history.
type History struct {
	ID     string
	Offset int64
	DB     int // that is selected there
}

// A Storage keeps a keyspace on disk. It is safe for concurrent use, except as
// its methods say.
type Storage struct {
	options Options
	cfg     *config.View
	clock   *clock.Clock
	store   *store.Store

	opened bool // set by Open, before there are sessions

	log   atomic.Pointer[aof.Log] // nil: appendonly no. Changed with every shard locked
	fsync fsync
	loads loads

	// Every recorded command writes changes; every command reads what is above.
	_       [120]byte    // two cache lines: processors fetch them in pairs
	changes atomic.Int64 // since the last save
	_       [120]byte

	atClose atomic.Int32 // a CloseMode

	switching sync.Mutex    // held while the log is switched on or off; commands only try it
	snapshots chan struct{} // of one element, which is there while a snapshot is taken

	// mu is the innermost lock: its holder locks no shard and waits for no disk.
	mu       sync.Mutex
	place    place // protected by mu, as are the fields below
	jobs     jobs
	starting *aof.Log // switched on, but its first rewrite has not begun
	closed   bool     // no job may begin
	tasks    sync.WaitGroup
}

// A savePoint asks for a snapshot once there were changes and seconds have
// passed since the last one.
type savePoint struct{ seconds, changes int64 }

// A CloseMode says whether Close saves a snapshot.
type CloseMode int32

// The modes of Close.
const (
	SaveIfConfigured CloseMode = iota // if there are save points
	SaveNever                         // SHUTDOWN NOSAVE
	SaveAlways                        // SHUTDOWN SAVE
)

var (
	// ErrClosing is returned when the end of the server cuts a wait short.
	ErrClosing = errors.New("the server ends")

	errNoDisk = errors.New("appendonly and save need a server that has a directory")
	//nolint:revive,staticcheck // Redis' text
	errAppendOnly = errors.New("Unable to turn on AOF. Check server logs.")
	errNotBegun   = errors.New("nothing can be written now")
)

// New returns a Storage that keeps nothing before Open and Load.
func New(o Options) *Storage {
	s := &Storage{
		options: o, cfg: o.Config, clock: o.Clock, store: o.Store, place: place{fs: o.Disk},
		snapshots: make(chan struct{}, 1),
	}
	s.jobs.lastSaveS = s.unixSeconds()
	s.cfg.Follow(func() {
		policies := map[string]aof.Policy{"always": aof.Always, "no": aof.No}
		s.fsync.policy.Store(uint32(policies[s.cfg.String("appendfsync")]))
		s.fsync.easy.Store(s.cfg.Bool("no-appendfsync-on-rewrite"))
	})
	s.readSavePoints()
	s.cfg.OnChange("save", func() {
		s.readSavePoints()
		s.tasks.Go(s.resetJournal) // the caller may hold shards
	})
	s.cfg.OnChange("stop-writes-on-bgsave-error", func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.updateMisconf()
	})
	s.cfg.OnTry("dir", s.changeDir)
	s.cfg.OnTry("appendonly", s.switchLog)
	return s
}

// Open prepares for Load; until Load returns, Loading reports true. If the
// directives ask for files it locks the directory, which only one process at a
// time may write to. It fails if there is no directory but the directives ask
// for one. A Storage without a directory need not be opened.
func (s *Storage) Open() error {
	wanted := s.cfg.Bool("appendonly") || len(s.cfg.SavePoints()) > 0
	named := s.cfg.Bool("cluster-enabled") && s.cfg.String("cluster-config-file") != "" // a file keeps the id
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.place.fs == nil && wanted:
		return errNoDisk
	case s.place.fs == nil:
		return nil
	case wanted || named:
		if err := s.place.lock(); err != nil {
			return err
		}
	}
	s.opened = true
	s.loads.running.Store(&progress{beganS: s.unixSeconds()})
	return nil
}

// Opened reports whether Open found a directory.
func (s *Storage) Opened() bool { return s.opened }

// Loading reports whether the files are still being loaded.
func (s *Storage) Loading() bool { return s.loads.running.Load() != nil }

// Reloading reports whether Reload or ReloadLog is under way.
func (s *Storage) Reloading() bool { return s.loads.reloading.Load() }

// CancelLoad makes Load stop at the next key or command. It returns at once.
func (s *Storage) CancelLoad() { s.loads.canceled.Store(true) }

// SetCloseMode says whether Close saves a snapshot.
func (s *Storage) SetCloseMode(m CloseMode) { s.atClose.Store(int32(m)) }

// Close completes a log that was switched on, cancels another job that is running,
// saves a snapshot if the keyspace has changed and the CloseMode asks for one, syncs
// and closes the log, and unlocks the directory. After CancelJobs it only syncs, closes and unlocks. All
// sessions must have ended.
func (s *Storage) Close() error {
	if !s.opened {
		return nil
	}
	s.completeLog()
	s.mu.Lock()
	s.jobs.saveNext, s.jobs.rewriteNext = false, false
	j, canceled := s.jobs.current, s.closed
	s.mu.Unlock()
	if j != nil {
		j.cancel()
		<-j.done
	}
	var failed error
	if !canceled && !s.Loading() && s.changes.Load() > 0 && s.savesAtClose() {
		failed = s.Save(nil)
		if errors.Is(failed, ErrTorn) && s.log.Load() != nil {
			failed = nil // the log has everything that was whole
		}
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.tasks.Wait()
	s.stopLog()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(failed, s.place.unlock())
}

func (s *Storage) savesAtClose() bool {
	switch CloseMode(s.atClose.Load()) {
	case SaveNever:
		return false
	case SaveAlways:
		return true
	}
	return s.HasSavePoints()
}

// unixSeconds returns the server's time in unix seconds.
func (s *Storage) unixSeconds() int64 { return s.clock.NowUs() / 1_000_000 }

// isClosed reports whether c is closed; a nil channel never is.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
