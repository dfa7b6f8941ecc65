package server_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
)

const tooManyClients = "-ERR max number of clients reached\r\n"

// infoField returns one line of INFO.
func infoField(t *testing.T, w *wire, field string) string {
	t.Helper()
	return fieldOf(t, w.call(t, "INFO", "everything"), field)
}

// fieldOf returns one line of a reply to INFO.
func fieldOf(t *testing.T, info, field string) string {
	t.Helper()
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	require.Fail(t, "INFO has no "+field)
	return ""
}

func TestMaxClientsFlood(t *testing.T) {
	t.Parallel()
	const maxClients, flood = 5, 500
	srv, _, _ := serveWith(t, config.New(), "--maxclients", strconv.Itoa(maxClients))
	admitted := make([]*wire, maxClients)
	for i := range admitted {
		admitted[i] = connect(t, srv)
		require.Equal(t, "+PONG", admitted[i].call(t, "PING"))
	}
	var rejected sync.WaitGroup
	var stops []func()
	for _, c := range admitted {
		stops = append(stops, meanwhile(t, func() error { return c.exchange("PING\r\n") }))
	}
	for range 10 {
		rejected.Go(func() {
			for range flood / 10 {
				require.Equal(t, tooManyClients, connect(t, srv).readToEnd(t))
			}
		})
	}
	rejected.Wait()
	for _, stop := range stops {
		stop()
	}
	require.Equal(t, strconv.Itoa(maxClients), infoField(t, admitted[0], "connected_clients"))
	require.Equal(t, strconv.Itoa(maxClients), infoField(t, admitted[0], "maxclients"))
	require.Equal(t, strconv.Itoa(flood), infoField(t, admitted[0], "rejected_connections"))
	require.Equal(t, strconv.Itoa(maxClients), infoField(t, admitted[0], "total_connections_received"))
}

// TestClosedClientsLeaveTheirPlaces: the places of clients are free once their connections are closed.
func TestClosedClientsLeaveTheirPlaces(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New(), "--maxclients", "1")
	for range 3 {
		eventually(t, func() bool {
			c := connect(t, srv)
			_ = c.sendRaw([]byte("QUIT\r\n")) // it may be closed already
			reply, err := c.readReply()
			return err == nil && string(reply) == "+OK\r\n"
		}, func() {})
	}
}
