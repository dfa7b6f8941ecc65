package pipe_test

import (
	"context"
	"fmt"
	"io"

	"github.com/zlimit/zlimit/server/pipe"
)

// Each connection has a buffer in both directions: the client can send everything
// and end its direction before the server reads.
func Example() {
	l := pipe.Listen()
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.Copy(conn, conn) // an echo
	}()

	conn, err := l.Dial(context.Background())
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "hello, pipe")
	if err := conn.(*pipe.Conn).CloseWrite(); err != nil {
		panic(err)
	}
	reply, err := io.ReadAll(conn)
	fmt.Println(string(reply), err)
	// Output: hello, pipe <nil>
}
