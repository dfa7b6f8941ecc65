package nodes

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
)

// StartGateway starts zlimit-server, whose path is given, before upstream servers, and returns when
// it answers. Its files are in dir. The caller must Kill it.
func StartGateway(ctx context.Context, path, dir, upstream string, directives ...string) (*Process, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	directives = append([]string{"upstream " + upstream}, directives...)
	dir = filepath.Join(dir, "gateway"+strconv.Itoa(ports[0]))
	p, err := NewProcess("gateway", path, dir, ports[0], directives)
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
