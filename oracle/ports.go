package oracle

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

var handedOut sync.Map // ports that FreePorts has returned

// FreePorts returns ports of loopback where nobody listens. They are below those that the system gives to
// connections, so that nobody takes one while its server is away. A process gets each of them once.
func FreePorts(n int) ([]int, error) {
	const from, to = 20_000, 32_000
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		if tries == 10_000 {
			return nil, fmt.Errorf("no %d ports from %d to %d are free", n, from, to)
		}
		port := from + rand.IntN(to-from)
		if _, taken := handedOut.LoadOrStore(port, true); taken {
			continue
		}
		l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		defer l.Close() // not before all are chosen
		ports = append(ports, port)
	}
	return ports, nil
}

// FreePort returns one of FreePorts.
func FreePort() (int, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}
