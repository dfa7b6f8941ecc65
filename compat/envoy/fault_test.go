package envoy

import (
	"slices"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v2"
)

// A fault is one mistake that an implementation could make. Its functions change what
// passes to and from a reference; those that are nil change nothing.
type fault struct {
	name     string
	options  func(*Options)
	files    func([]config.YamlDescriptor) []config.YamlDescriptor // of every level
	request  func(*pb.RateLimitRequest)
	response func(*pb.RateLimitRequest, *pb.RateLimitResponse)
	decide   func(*faulty, *pb.RateLimitRequest) (*pb.RateLimitResponse, error)
	advance  func(time.Duration) time.Duration
	load     func(*faulty, map[string]string) error
}

// faulty is a Decider with a fault.
type faulty struct {
	*Reference
	fault *fault
	t     *testing.T
	addr  string
}

func (f *faulty) Load(files map[string]string) error {
	if f.fault.files != nil {
		files = f.rewrite(files)
	}
	if f.fault.load != nil {
		return f.fault.load(f, files)
	}
	return f.Reference.Load(files)
}

// rewrite applies the fault to the files, unless the reference refuses them.
func (f *faulty) rewrite(files map[string]string) map[string]string {
	if _, err := f.ReadConfig(files); err != nil {
		return files
	}
	changed := map[string]string{}
	for name, content := range files {
		root := config.ConfigFileContentToYaml(name, content)
		root.Descriptors = f.rewriteLevel(root.Descriptors)
		out, err := yaml.Marshal(root)
		require.NoError(f.t, err)
		changed[name] = string(out)
	}
	return changed
}

func (f *faulty) rewriteLevel(level []config.YamlDescriptor) []config.YamlDescriptor {
	level = f.fault.files(slices.Clone(level))
	for i := range level {
		level[i].Descriptors = f.rewriteLevel(level[i].Descriptors)
	}
	return level
}

func (f *faulty) Advance(d time.Duration) error {
	if f.fault.advance != nil {
		d = f.fault.advance(d)
	}
	return f.Reference.Advance(d)
}

func (f *faulty) Decide(r *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	asked := proto.Clone(r).(*pb.RateLimitRequest)
	if f.fault.request != nil {
		f.fault.request(asked)
	}
	if f.fault.decide != nil {
		return f.fault.decide(f, asked)
	}
	response, err := f.Reference.Decide(asked)
	if err == nil && f.fault.response != nil {
		// The reference answers with messages of its configuration.
		response = proto.Clone(response).(*pb.RateLimitResponse)
		f.fault.response(r, response)
	}
	return response, err
}

// TestFaults requires that the comparison finds every fault, within histories that do not
// depend on chance.
func TestFaults(t *testing.T) {
	const most = 150 // histories until a fault must have been found
	addr := redisServer(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			o := Options{Headers: true, Metadata: true}
			want := newReference(t, addr, o)
			if f.options != nil {
				f.options(&o)
			}
			got := &faulty{Reference: newReference(t, addr, o), fault: &f, t: t, addr: addr}
			now, found := *nowFlag, error(nil)
			n := uint64(0)
			for ; n < most && found == nil; n++ {
				h := Generate(1+n, now, historiesMode)
				found = Compare(want, got, h)
				now = h.EndMs
			}
			require.Error(t, found, "%d histories do not show the fault", most)
			t.Logf("found by history %d", n)
		})
	}
}

// TestNoFault requires that a faulty decider without a fault equals the reference, also
// with its configuration rewritten.
func TestNoFault(t *testing.T) {
	addr := redisServer(t)
	o := Options{Headers: true, Metadata: true}
	same := func(level []config.YamlDescriptor) []config.YamlDescriptor { return level }
	got := &faulty{
		Reference: newReference(t, addr, o), t: t, addr: addr,
		fault: &fault{files: same, response: func(*pb.RateLimitRequest, *pb.RateLimitResponse) {}},
	}
	require.NoError(t, compareAll(newReference(t, addr, o), got, 1, 60, historiesMode))
}
