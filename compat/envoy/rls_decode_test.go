package envoy

import (
	"fmt"
	"math/rand/v2"
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	rl "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/doors/rls"
	"github.com/zlimit/zlimit/policy"
)

// rawCodec sends and receives messages as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func (rawCodec) Name() string { return "proto" }

// decodedText returns what the door decoded, as text.
func decodedText(r *doors.Request) string {
	s := fmt.Sprintf("%q %d", r.Domain, r.Hits)
	for _, d := range r.Descriptors {
		s += " {"
		for _, e := range d.Entries {
			s += fmt.Sprintf("%q=%q ", e.Key, e.Value)
		}
		if d.Override != nil {
			s += fmt.Sprintf("limit %d %d ", d.Override.Requests, d.Override.Unit)
		}
		if d.Hits != nil {
			s += fmt.Sprintf("hits %d", *d.Hits)
		}
		s += "}"
	}
	return s
}

// generatedText returns the same of what the generated code decoded.
func generatedText(r *pb.RateLimitRequest) string {
	var request doors.Request
	request.Domain, request.Hits = []byte(r.Domain), r.HitsAddend
	for _, d := range r.Descriptors {
		var one doors.Descriptor
		for _, e := range d.Entries {
			one.Entries = append(one.Entries, doors.Entry{Key: []byte(e.Key), Value: []byte(e.Value)})
		}
		if d.Limit != nil {
			one.Override = &doors.Override{Requests: d.Limit.RequestsPerUnit}
			if d.Limit.Unit >= 0 && d.Limit.Unit <= typev3.RateLimitUnit(policy.Week) {
				one.Override.Unit = doors.Unit(d.Limit.Unit)
			}
		}
		if d.HitsAddend != nil {
			one.Hits = &d.HitsAddend.Value
		}
		request.Descriptors = append(request.Descriptors, one)
	}
	return decodedText(&request)
}

// mutate changes some bytes of a message, cuts it, or repeats a part of it.
func mutate(random *rand.Rand, b []byte) []byte {
	b = append([]byte(nil), b...)
	for range random.IntN(3) {
		at := random.IntN(len(b))
		switch random.IntN(4) {
		case 0:
			b[at] = byte(random.Uint32())
		case 1:
			b[at] ^= 1 << random.IntN(8)
		case 2:
			b = append(b[:at:at], append([]byte{byte(random.IntN(64))}, b[at:]...)...)
		case 3:
			b = append(b, b[at:]...)
		}
	}
	return b
}

// TestRLSDecodesAsGenerated sends messages, most of them damaged, and has the door decode what the generated
// code does, and fail where it fails.
func TestRLSDecodesAsGenerated(t *testing.T) {
	var seen string
	d := startDoor(t, rls.Options{}, func(r *doors.Request, response *doors.Response) error {
		seen = decodedText(r)
		return allowed(r, response)
	}, nil)
	conn := d.dial(t, nil, grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	message := request("domain", []string{"a", "1", "bb", "22"}, []string{"c", "ü"})
	message.HitsAddend = 300
	message.Descriptors[1].Limit = &rl.RateLimitDescriptor_RateLimitOverride{
		RequestsPerUnit: 200, Unit: typev3.RateLimitUnit_HOUR,
	}
	message.Descriptors[0].HitsAddend = wrapperspb.UInt64(1 << 40)
	whole, err := proto.Marshal(message)
	require.NoError(t, err)
	decoded, failed := 0, 0
	for range 5000 {
		b := mutate(random, whole)
		var generated pb.RateLimitRequest
		want := proto.Unmarshal(b, &generated)
		var reply []byte
		err := conn.Invoke(t.Context(), pb.RateLimitService_ShouldRateLimit_FullMethodName, b, &reply)
		switch {
		case status.Code(err) == codes.InvalidArgument: // a field that this generated code does not know
			continue
		case want != nil:
			failed++
			require.Equal(t, codes.Internal, status.Code(err), "%x: %v", b, want)
		default:
			decoded++
			require.NoError(t, err, "%x", b)
			require.Equal(t, generatedText(&generated), seen, "%x", b)
		}
	}
	require.Greater(t, decoded, 1000)
	require.Greater(t, failed, 500)
	message.Domain += "x" // the comparison sees a difference
	require.NotEqual(t, generatedText(message), seen)
}
