package nodes

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
)

// Announced stands in the directives of gateways for the addresses of all of them.
const Announced = "$GATEWAYS"

// StartGateways starts so many zlimit-servers, whose path is given, before upstream servers, and returns when
// they answer. Their files are in dir. The caller must Kill them, also those that are returned with an
// error.
func StartGateways(
	ctx context.Context, n int, path, dir, upstream string, directives ...string,
) (all []*Process, err error) {
	ports, err := freePorts(n)
	if err != nil {
		return nil, err
	}
	var addrs []string
	for _, port := range ports {
		addrs = append(addrs, Addr(port))
	}
	lines := []string{"upstream " + upstream}
	for _, line := range directives {
		lines = append(lines, strings.ReplaceAll(line, Announced, strings.Join(addrs, " ")))
	}
	for _, port := range ports {
		p, err := startGateway(ctx, path, dir, port, lines)
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

func startGateway(ctx context.Context, path, dir string, port int, lines []string) (*Process, error) {
	p, err := NewProcess("gateway", path, filepath.Join(dir, "gateway"+strconv.Itoa(port)), port, lines)
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	err = Await(ctx, "the gateway listens", func() error {
		if err := p.Running(); err != nil {
			return errors.Join(err, errors.New(p.Log(5)))
		}
		conn, err := net.Dial("tcp4", Addr(p.Port))
		if err == nil {
			conn.Close()
		}
		return err
	})
	if err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}
