package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/zlimit/zlimit/server"
)

// notifyTimeout bounds the wait for a supervisor that does not read its socket.
const notifyTimeout = time.Second

var (
	errNoNotifySocket = errors.New("NOTIFY_SOCKET is not set")
	errNotifySocket   = errors.New("NOTIFY_SOCKET must be an absolute path, or begin with @")
)

// notifySupervisor tells systemd, as sd_notify(3) describes it, when the server is
// loaded and when it shuts down, and returns then. socket is the value of NOTIFY_SOCKET.
func notifySupervisor(supervised, socket string, srv *server.Server) {
	if supervised == "no" || supervised == "auto" && socket == "" {
		return
	}
	tell := func(state string) {
		if err := notify(socket, state); err != nil {
			srv.Log().Warn("notifying the supervisor failed", "error", err)
		}
	}
	tell("STATUS=Loading")
	select {
	case <-srv.Loaded():
		tell("READY=1\nSTATUS=Ready to accept connections")
	case <-srv.Ending():
	}
	<-srv.Ending()
	tell("STOPPING=1\nSTATUS=Shutting down")
}

// notify sends a state to a supervisor's socket: a path, or the name of an abstract
// socket after an @.
func notify(socket, state string) error {
	switch {
	case socket == "":
		return errNoNotifySocket
	case !filepath.IsAbs(socket) && !strings.HasPrefix(socket, "@"):
		return fmt.Errorf("%w: %q", errNotifySocket, socket)
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	if err = c.SetWriteDeadline(time.Now().Add(notifyTimeout)); err == nil {
		_, err = c.Write([]byte(state))
	}
	return errors.Join(err, c.Close())
}
