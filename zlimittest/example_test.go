package zlimittest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zlimit/zlimit/zlimittest"
)

// TestExampleWindowEdge tests the edge of a limiter's window without sleeping.
func TestExampleWindowEdge(t *testing.T) {
	srv := zlimittest.RunT(t) // a server for this test alone
	srv.Freeze()
	for range 3 {
		srv.Do("RL.ALLOW", "user:42", 3, "1m") // or through a client at srv.Addr()
	}
	srv.Key("user:42").RequireUnits(3)

	srv.Advance(time.Minute - time.Millisecond)
	if d := srv.Allow("user:42", three, 1); d.OK() || d.RetryAfter != time.Millisecond {
		t.Error("admitted too early", d)
	}
	srv.Advance(time.Millisecond)
	if d := srv.Allow("user:42", three, 1); !d.OK() {
		t.Error("denied too long", d)
	}
}

// TestExampleBubble does the same in a bubble of testing/synctest, where sleeping takes
// no time.
func TestExampleBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zlimittest.RunT(t)
		conn, err := srv.Dial() // go-redis: Options.Dialer; redigo: redis.NewConn
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "SET session x EX 60\r\n")
		if _, err := conn.Read(make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(61 * time.Second) //nolint:forbidigo // the bubble's clock
		srv.Key("session").RequireAbsent()
	})
}

// TestExampleWaiting tests calls that wait for room, in a bubble, where synctest.Wait returns once they do.
func TestExampleWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zlimittest.RunT(t)
		srv.Freeze()
		srv.Do("RL.ALLOW", "user:42", 1, "1m")
		wait := func() (reply chan any) {
			reply = make(chan any, 1)
			go func() { reply <- srv.Do("RL.ALLOW", "user:42", 1, "1m", "WAIT", "90s") }()
			synctest.Wait()
			return reply
		}
		first, second := wait(), wait()
		srv.Advance(time.Hour) // halts whenever a unit leaves its window, and when a wait is over
		if got := fmt.Sprint(<-first, <-second); got != "[1 1 0 0 60000 60000] [0 1 0 30000 30000 90000]" {
			t.Error("the replies are", got)
		}
		srv.Key("user:42").RequireAbsent()
	})
}

// Without a test around it, a server is started and closed by hand.
func Example() {
	srv, err := zlimittest.Start(zlimittest.Options{Frozen: true})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	srv.Do("RL.ALLOW", "user:42", 1, "1h")
	fmt.Println(srv.Allow("user:42", three, 3).OK(), srv.Key("user:42").Units())
	srv.Advance(time.Hour)
	fmt.Println(srv.Allow("user:42", three, 3).OK(), srv.Key("user:42").Units())
	// Output:
	// false 1
	// true 3
}

// A client must cope with a server that is loading, once.
func ExampleServer_Inject() {
	srv, err := zlimittest.Start(zlimittest.Options{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	fault := srv.Inject(zlimittest.Fault{Kind: zlimittest.Loading})

	conn, err := srv.Dial()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	for range 2 {
		fmt.Fprint(conn, "RL.ALLOW user:42 3 1m\r\n")
		reply := make([]byte, 100)
		n, _ := conn.Read(reply)
		fmt.Printf("%.11s\n", strings.ReplaceAll(string(reply[:n]), "\r\n", " "))
	}
	fmt.Println(fault.Hits())
	// Output:
	// -LOADING Re
	// *5 :1 :3 :2
	// 1
}
