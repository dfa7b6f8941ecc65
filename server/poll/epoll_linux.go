package poll

import (
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// maxEvents is how many events one call returns at most.
const maxEvents = 256

// An Epoll is a Poller of sockets. Its descriptor is itself watched by Go's scheduler, so that a goroutine
// which waits on it blocks no thread; docs/adr/0052 has the figures.
type Epoll struct {
	fd      uintptr
	file    *os.File
	raw     syscall.RawConn
	check   func(fd uintptr) bool // once, bound once
	passing bool                  // the next check is to let the scheduler look at others
	events  [maxEvents]syscall.EpollEvent
	n       int
	taken   []Event

	mu   sync.Mutex
	wake int // protected by mu: an eventfd; -1: there is none
}

const edgeTriggered = 1 << 31 // EPOLLET, which package syscall has as a negative number

// endedOrUrgent are the events after which a read that returns less than it might is not the last. Urgent
// data ends a read.
const endedOrUrgent = syscall.EPOLLRDHUP | syscall.EPOLLHUP | syscall.EPOLLERR | syscall.EPOLLPRI

// wakeToken is the eventfd's.
const wakeToken = -1

// NewEpoll returns a Poller.
func NewEpoll() (*Epoll, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	p := &Epoll{fd: uintptr(fd), wake: -1}
	p.check = p.once
	if err := p.open(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Epoll) open() error {
	if err := syscall.SetNonblock(int(p.fd), true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	p.file = os.NewFile(p.fd, "epoll")
	err := p.file.SetDeadline(time.Time{}) // fails unless the scheduler watches it
	if err != nil {
		return err
	}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		return err
	}
	const nonblock, cloexec = syscall.O_NONBLOCK, syscall.O_CLOEXEC // EFD_NONBLOCK and EFD_CLOEXEC are these
	wake, _, e := syscall.Syscall(syscall.SYS_EVENTFD2, 0, nonblock|cloexec, 0)
	if e != 0 {
		return os.NewSyscallError("eventfd2", e)
	}
	p.wake = int(wake)
	return p.Add(p.wake, wakeToken)
}

// Add makes the poller report events of a descriptor, which must not block, until it is closed.
func (p *Epoll) Add(fd int, token int32) error {
	ev := syscall.EpollEvent{
		Events: syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | syscall.EPOLLPRI | edgeTriggered,
		Fd:     token,
	}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(int(p.fd), syscall.EPOLL_CTL_ADD, fd, &ev))
}

// once asks for events. It is called within a read, which waits if it returns false.
func (p *Epoll) once(fd uintptr) bool {
	if p.passing {
		p.passing = false
		p.Wake() // only now: what comes before a read is forgotten
		return false
	}
	for {
		n, _, e := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&p.events[0])),
			maxEvents, 0, 0, 0)
		if e != syscall.EINTR {
			p.n = int(n)
			return e != 0 || n > 0
		}
	}
}

// Wait implements Poller.
func (p *Epoll) Wait() []Event {
	p.n = 0
	if p.raw.Read(p.check) != nil { // it is closed
		return nil
	}
	return p.take()
}

// Poll implements Poller.
func (p *Epoll) Poll() []Event {
	p.once(p.fd)
	return p.take()
}

// Pass implements Poller.
func (p *Epoll) Pass() []Event {
	p.passing = true
	return p.Wait()
}

func (p *Epoll) take() []Event {
	p.taken = p.taken[:0]
	for i := range max(p.n, 0) {
		ev := &p.events[i]
		if ev.Fd == wakeToken {
			continue
		}
		p.taken = append(p.taken, Event{
			Token:    ev.Fd,
			Readable: ev.Events&^syscall.EPOLLOUT != 0,
			Ended:    ev.Events&endedOrUrgent != 0,
		})
	}
	return p.taken
}

// Wake implements Poller. The eventfd's counter is never read: each write is an event.
func (p *Epoll) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wake < 0 {
		return
	}
	one := [8]byte{1}
	_, _ = syscall.Write(p.wake, one[:]) // it is full after more writes than ever are
}

// Close implements Poller.
func (p *Epoll) Close() {
	if p.file != nil {
		p.file.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wake >= 0 {
		_ = syscall.Close(p.wake)
		p.wake = -1
	}
}
