package server_test

import (
	"bufio"
	"fmt"
	"net"

	"github.com/zlimit/zlimit/server"
)

// A test starts its own server, freezes the clock and moves it: a window passes
// without waiting.
func Example() {
	srv, err := server.Listen(server.Options{FreePort: true})
	if err != nil {
		panic(err)
	}
	go srv.Serve()
	defer srv.Close()
	clock := srv.Engine().Clock()
	clock.Freeze()

	conn, err := net.Dial("tcp", srv.Addr().String())
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	replies := bufio.NewReader(conn)
	allow := func() {
		fmt.Fprint(conn, "RL.ALLOW user:42 1 10s\r\n")
		for range 6 { // an array of five integers
			line, _, _ := replies.ReadLine()
			fmt.Printf("%s,", line)
		}
		fmt.Println()
	}
	allow()
	allow()
	clock.Advance(10_000)
	allow()
	// Output:
	// *5,:1,:1,:0,:0,:10000,
	// *5,:0,:1,:0,:10000,:10000,
	// *5,:1,:1,:0,:0,:10000,
}
