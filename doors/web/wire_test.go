package web_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors/web"
)

// listen serves until the test ends, and returns the address.
func (b *bench) listen() string {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b.t, err)
	one := func(net.Addr) string { return "one" }
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(web.NewListener(l.(*net.TCPListener), 1024, one)) }()
	b.t.Cleanup(func() {
		_ = b.server.Shutdown(b.t.Context()) // which is done: slow peers are cut
		require.NoError(b.t, <-served)
	})
	return l.Addr().String()
}

// send sends bytes as they are, and returns the statuses of the answers until the server closes.
func send(t *testing.T, address, text string) (statuses []int) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	go func() { _, _ = io.WriteString(c, text) }() // the server may answer before it has read all
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		_, err = io.Copy(io.Discard, r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		statuses = append(statuses, r.StatusCode)
		if r.Close {
			return statuses
		}
	}
}

// TestSmuggledRequests: what peers may take for one request or two is refused, and ends the connection.
func TestSmuggledRequests(t *testing.T) {
	b := newBench(t)
	address := b.listen()
	const (
		post = "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
		get  = "GET /v1/auth?domain=address&address=a HTTP/1.1\r\nHost: h\r\nA: ::1\r\n"
		body = `{"domain":"d"}` // 14 bytes
		end  = "GET /end HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
	)
	for _, c := range []struct {
		text  string
		want  []int
		asked int
	}{
		{get + "\r\n" + get + "\r\n" + end, []int{200, 200, 404}, 2},
		{post + "Content-Length: 14\r\n\r\n" + body + end, []int{200, 404}, 1},
		{post + "Transfer-Encoding: chunked\r\n\r\ne\r\n" + body + "\r\n0\r\n\r\n" + end, []int{411}, 0},
		{
			post + "Content-Length: 14\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get + "\r\n",
			[]int{411},
			0,
		},
		{post + "Transfer-Encoding: chunked\r\nContent-Length: 14\r\n\r\n" + body + end, []int{411}, 0},
		{post + "Transfer-Encoding: xchunked\r\n\r\n" + body + end, []int{501}, 0},
		{post + "Transfer-Encoding : chunked\r\n\r\n" + body + end, []int{400}, 0},
		{post + "Content-Length: 14\r\nContent-Length: 15\r\n\r\n" + body + end, []int{400}, 0},
		{post + "Content-Length: +14\r\n\r\n" + body + end, []int{400}, 0},
		{post + "Content-Length: 65537\r\n\r\n" + body, []int{413}, 0},
		{get + "Content-Length: 5\r\n\r\nhello" + end, []int{400}, 0},
		{get + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + end, []int{411}, 0},
		{get + "X: " + strings.Repeat("x", 40<<10) + "\r\n\r\n" + end, []int{431}, 0},
		{get + " folded: x\r\n\r\n" + end, []int{400, 404}, 0},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{404}, 0},
	} {
		b.asked = nil
		require.Equal(t, c.want, send(t, address, c.text), c.text)
		require.Len(t, b.asked, c.asked, c.text)
	}
}

// TestSlowPeersKeepNobodyOut: connections without a complete request make room for others.
func TestSlowPeersKeepNobodyOut(t *testing.T) {
	b := newBench(t)
	address := b.listen()
	for i := range 600 { // an address may have 512
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		text := "POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n" +
			"Content-Length: 9\r\n\r\n{"
		_, err = io.WriteString(c, text[:len(text)-i%len(text)])
		if err != nil { // it was replaced at once
			require.ErrorContains(t, err, "reset")
		}
	}
	r, err := http.Get("http://" + address + "/v1/auth?domain=tenant&headers=x-tenant")
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.Equal(t, 200, r.StatusCode)
}
