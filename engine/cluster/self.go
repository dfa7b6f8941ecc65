package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/persist/disk"
)

// A Self is the server as the only node of its cluster. View may be called concurrently.
type Self struct {
	config *config.View
	port   func() int
	offset func() int64
	id     string
}

// NewSelf returns a node with a new id. port returns the port of the server, offset that of its replication.
func NewSelf(c *config.View, port func() int, offset func() int64) *Self {
	return &Self{config: c, port: port, offset: offset, id: newID()}
}

// maxFileBytes bounds what is read of cluster-config-file: the file of a large cluster is refused anyway.
const maxFileBytes = 1 << 20

var errOtherNodes = errors.New("it names other nodes: this server is a cluster of one node")

// Open gives the node the id of cluster-config-file, whose format is that of Redis, or makes the file. A node
// without disk, or whose directive is empty, keeps its new id. The directory must be locked, and View must
// not be called before.
func (s *Self) Open(on disk.FS) error {
	name := s.config.String("cluster-config-file")
	if on == nil || name == "" || !s.config.Bool("cluster-enabled") {
		return nil
	}
	id, err := readID(on, name)
	switch {
	case err == nil:
		s.id = id
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cluster-config-file %s: %w", on.Path(name), err)
	}
	err = disk.WriteFile(on, name, name+".tmp", func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s :0@0 myself,master - 0 0 1 connected 0-%d\n"+
			"vars currentEpoch 1 lastVoteEpoch 0\n", s.id, commands.Slots-1)
		return err
	})
	if err != nil {
		return fmt.Errorf("cluster-config-file %s: %w", on.Path(name), err)
	}
	return nil
}

func newID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // it cannot fail
	return hex.EncodeToString(b[:])
}

// readID returns the id of the node in a file.
func readID(on disk.FS, name string) (id string, err error) {
	f, err := on.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "vars":
		case len(words) < 8 || !isID(words[0]):
			return "", fmt.Errorf("unexpected line %q", strings.TrimSuffix(line, "\n"))
		case !strings.Contains(words[2], "myself"):
			return "", errOtherNodes
		default:
			id = words[0]
		}
	}
	if id == "" {
		return "", errors.New("it names no node")
	}
	return id, nil
}

func isID(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == 20
}

// View returns the cluster as a client sees it that has connected with TLS, or without.
func (s *Self) View(tls bool) *View {
	n := Node{
		ID: s.id, IP: s.config.String("cluster-announce-ip"),
		Hostname: s.config.String("cluster-announce-hostname"),
		Endpoint: Endpoint(s.config.String("cluster-preferred-endpoint-type")),
		Port:     s.config.Int("cluster-announce-port"), BusPort: s.config.Int("cluster-announce-bus-port"),
		Epoch: 1, Last: commands.Slots - 1, Offset: s.offset(),
	}
	if n.Port == 0 {
		n.Port = int64(s.port())
	}
	listened := n.Port
	if s.config.Bool("tls-cluster") {
		if n.TLSPort = s.config.Int("cluster-announce-tls-port"); n.TLSPort == 0 {
			n.TLSPort = s.config.Int("tls-port")
		}
		listened = n.TLSPort
	}
	if n.BusPort == 0 {
		if n.BusPort = s.config.Int("cluster-port"); n.BusPort == 0 {
			n.BusPort = listened + busOffset
		}
	}
	return &View{Nodes: []Node{n}, TLS: tls, Covered: commands.Slots}
}

// busOffset is how far Redis' port of the bus is above the clients' port.
const busOffset = 10000
