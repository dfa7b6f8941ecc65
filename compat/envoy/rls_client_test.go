package envoy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rl "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/doors/rls"
	"github.com/zlimit/zlimit/policy"
)

// request returns a request with a descriptor for each list of pairs.
func request(domain string, descriptors ...[]string) *pb.RateLimitRequest {
	r := &pb.RateLimitRequest{Domain: domain}
	for _, pairs := range descriptors {
		d := &rl.RateLimitDescriptor{}
		for i := 0; i < len(pairs); i += 2 {
			d.Entries = append(d.Entries, &rl.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
		}
		r.Descriptors = append(r.Descriptors, d)
	}
	return r
}

// TestRLSFields has each field of the request seen by the decision, and each of the response by the client.
func TestRLSFields(t *testing.T) {
	var seen string
	d := startDoor(t, rls.Options{
		Headers: [3]string{"x-limit", "x-remaining", "x-reset"}, Metadata: true,
	}, func(r *doors.Request, response *doors.Response) error {
		one := r.Descriptors[1]
		seen = fmt.Sprintf("%s %d %s=%s %v %d", r.Domain, r.Hits, one.Entries[1].Key, one.Entries[1].Value,
			*one.Override, *one.Hits)
		*response = doors.Response{Code: doors.OverLimit, Binding: 0, Statuses: []doors.Status{
			{
				Code: doors.OverLimit, HasLimit: true,
				Limit:     doors.Limit{Name: "n", Requests: 5, Unit: policy.Week},
				Remaining: 3, ResetSeconds: 7, HasReset: true,
			},
			{Code: doors.OK, Remaining: math.MaxUint32, Quota: true, QuotaOver: true},
		}}
		return nil
	}, nil)
	r := request("d", []string{"a", "1"}, []string{"b", "2", "c", "3"})
	r.HitsAddend = 4
	r.Descriptors[1].Limit = &rl.RateLimitDescriptor_RateLimitOverride{
		RequestsPerUnit: 9, Unit: typev3.RateLimitUnit_DAY,
	}
	r.Descriptors[1].HitsAddend = wrapperspb.UInt64(6)
	got, err := d.client(t).ShouldRateLimit(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "d 4 c=3 {9 day} 6", seen)
	list := got.DynamicMetadata.Fields["descriptors"].GetListValue()
	text := list.Values[1].GetStructValue().Fields["limit"].GetStringValue()
	require.Equal(t, "requests_per_unit:9 unit:DAY", strings.ReplaceAll(text, "  ", " "))
	meta, err := structpb.NewStruct(map[string]any{
		"domain": "d", "hitsAddend": 4, "quotaModeEnabled": true, "quotaModeViolations": []any{1},
		"descriptors": []any{
			map[string]any{"entries": []any{"a=1"}},
			map[string]any{"entries": []any{"b=2", "c=3"}, "limit": text, "hitsAddend": 6},
		},
	})
	require.NoError(t, err)
	want := &pb.RateLimitResponse{
		OverallCode: pb.RateLimitResponse_OVER_LIMIT,
		Statuses: []*pb.RateLimitResponse_DescriptorStatus{
			{
				Code: pb.RateLimitResponse_OVER_LIMIT, LimitRemaining: 3,
				CurrentLimit: &pb.RateLimitResponse_RateLimit{
					Name: "n", RequestsPerUnit: 5, Unit: pb.RateLimitResponse_RateLimit_WEEK,
				},
				DurationUntilReset: durationpb.New(7 * time.Second),
			},
			{Code: pb.RateLimitResponse_OK, LimitRemaining: math.MaxUint32},
		},
		ResponseHeadersToAdd: []*core.HeaderValue{
			{Key: "x-limit", Value: "5"}, {Key: "x-remaining", Value: "3"}, {Key: "x-reset", Value: "7"},
		},
		DynamicMetadata: meta,
	}
	require.True(t, proto.Equal(want, got), "%v\n%v", want, got)
}

// TestRLSConcurrent calls over one connection from many goroutines, and has each answer belong to its call.
func TestRLSConcurrent(t *testing.T) {
	for _, waits := range []bool{false, true} {
		t.Run(strconv.FormatBool(waits), func(t *testing.T) {
			d := startDoor(t, rls.Options{Waits: func() bool { return waits }}, allowed, nil)
			client := d.client(t)
			var calls sync.WaitGroup
			for i := range 50 {
				calls.Go(func() {
					for j := range 100 {
						n := 1 + (i+j)%20
						pairs := make([]string, 2*n)
						for k := range pairs {
							pairs[k] = strconv.Itoa(k)
						}
						got, err := client.ShouldRateLimit(t.Context(), request("d", pairs))
						if err != nil || got.Statuses[0].LimitRemaining != uint32(n) {
							t.Errorf("%v %v", got, err)
							return
						}
					}
				})
			}
			calls.Wait()
			require.Empty(t, d.errors)
		})
	}
}

// TestRLSMoreCallsThanStreams has more calls at a time than a connection may have streams: the client waits.
func TestRLSMoreCallsThanStreams(t *testing.T) {
	begun, open := make(chan struct{}, 1000), make(chan struct{})
	d := startDoor(t, rls.Options{Waits: func() bool { return true }},
		func(r *doors.Request, response *doors.Response) error {
			begun <- struct{}{}
			<-open
			return allowed(r, response)
		}, nil)
	client := d.client(t)
	var calls sync.WaitGroup
	for range 250 {
		calls.Go(func() {
			if _, err := client.ShouldRateLimit(t.Context(), request("d", []string{"a", "b"})); err != nil {
				t.Error(err)
			}
		})
	}
	for range 100 {
		<-begun
	}
	close(open)
	calls.Wait()
}

func TestRLSHealth(t *testing.T) {
	d := startDoor(t, rls.Options{Serving: func() bool { return false }}, allowed, nil)
	client := grpc_health_v1.NewHealthClient(d.dial(t, nil))
	got, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, got.Status)
	_, err = client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "other"})
	require.Equal(t, codes.NotFound, status.Code(err))
	watch, err := client.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.Equal(t, codes.Unimplemented, status.Code(err))
}

// TestRLSErrors has the codes and texts of errors arrive.
func TestRLSErrors(t *testing.T) {
	const text = "größer als 100 %\nzweite Zeile"
	d := startDoor(t, rls.Options{}, func(*doors.Request, *doors.Response) error {
		return &doors.Refusal{Reason: doors.Unavailable, Text: text}
	}, nil)
	client := d.client(t)
	call := func(r *pb.RateLimitRequest, opts ...grpc.CallOption) *status.Status {
		_, err := client.ShouldRateLimit(t.Context(), r, opts...)
		return status.Convert(err)
	}
	got := call(request("d"))
	require.Equal(t, codes.Unavailable, got.Code())
	require.Equal(t, text, got.Message())
	require.Equal(t, codes.Unimplemented, call(request("d"), grpc.UseCompressor(gzip.Name)).Code())
	big := request("d", []string{"a", strings.Repeat("x", 70_000)})
	require.Equal(t, codes.ResourceExhausted, call(big).Code())
	many := request("d", make([][]string, 129)...)
	require.Equal(t, codes.InvalidArgument, call(many).Code())
	require.Equal(t, codes.Unavailable, call(request("d", []string{"a", strings.Repeat("x", 60_000)})).Code())
}

// TestRLSBigMessages sends and receives messages of several frames, more of them than the windows have room
// for.
func TestRLSBigMessages(t *testing.T) {
	d := startDoor(t, rls.Options{Metadata: true}, allowed, nil)
	client := d.client(t)
	value := strings.Repeat("x", 60_000)
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 10 {
				got, err := client.ShouldRateLimit(t.Context(), request("d", []string{"a", value}))
				if err != nil {
					t.Error(err)
					return
				}
				list := got.DynamicMetadata.Fields["descriptors"].GetListValue()
				entries := list.Values[0].GetStructValue().Fields["entries"].GetListValue()
				if entries.Values[0].GetStringValue() != "a="+value {
					t.Error("another value")
				}
			}
		})
	}
	calls.Wait()
}

// TestRLSCancel has calls that are cancelled, or run out of time, while they are decided.
func TestRLSCancel(t *testing.T) {
	begun, open := make(chan struct{}), make(chan struct{})
	d := startDoor(t, rls.Options{Waits: func() bool { return true }},
		func(r *doors.Request, response *doors.Response) error {
			if r.Hits == 1 {
				begun <- struct{}{}
				<-open
			}
			return allowed(r, response)
		}, nil)
	client := d.client(t)
	slow := request("d", []string{"a", "b"})
	slow.HitsAddend = 1
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := client.ShouldRateLimit(ctx, slow)
		done <- err
	}()
	<-begun
	cancel()
	require.Equal(t, codes.Canceled, status.Code(<-done))
	go func() { <-begun }()
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := client.ShouldRateLimit(ctx, slow)
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	close(open)
	_, err = client.ShouldRateLimit(t.Context(), request("d", []string{"a", "b"}))
	require.NoError(t, err)
}

// TestRLSAuthorization logs in by metadata, and once for many calls.
func TestRLSAuthorization(t *testing.T) {
	refuse := errors.New("unset")
	opts := rls.Options{Login: func(c doors.Credentials) (doors.Client, error) {
		if c.Authorization != "Bearer right" {
			refuse = &doors.Refusal{Reason: doors.Unauthenticated, Text: "WRONGPASS"}
			return nil, refuse
		}
		return decider(allowed), nil
	}}
	client := startDoor(t, opts, nil, nil).client(t)
	for range 3 {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer right")
		_, err := client.ShouldRateLimit(ctx, request("d", []string{"a", "b"}))
		require.NoError(t, err)
		_, err = client.ShouldRateLimit(t.Context(), request("d", []string{"a", "b"}))
		require.Equal(t, codes.Unauthenticated, status.Code(err))
	}
}

// sentKey is the key of a call's context for whether its last attempt was given to a connection.
type sentKey struct{}

// A sentHandler writes for each call, by sentKey, whether its last attempt was given to a connection.
type sentHandler struct{}

func (sentHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	ctx.Value(sentKey{}).(*atomic.Bool).Store(false)
	return ctx
}

func (sentHandler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if _, ok := event.(*stats.OutHeader); ok {
		ctx.Value(sentKey{}).(*atomic.Bool).Store(true)
	}
}

func (sentHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (sentHandler) HandleConn(context.Context, stats.ConnStats) {}

// TestRLSShutdown shuts the door while clients call: no call fails that the client has given to a connection.
// Those that it could give to none may be repeated elsewhere.
func TestRLSShutdown(t *testing.T) {
	first := startDoor(t, rls.Options{}, allowed, nil)
	client := pb.NewRateLimitServiceClient(first.dial(t, nil, grpc.WithStatsHandler(sentHandler{})))
	begun := make(chan struct{}, 10)
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			var sent atomic.Bool
			ctx := context.WithValue(t.Context(), sentKey{}, &sent)
			for i := 0; ; i++ {
				_, err := client.ShouldRateLimit(ctx, request("d", []string{"a", "b"}))
				if err != nil { // no server listens any more
					if sent.Load() {
						t.Error(err)
					}
					return
				}
				if i == 100 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range 4 {
		<-begun
	}
	require.NoError(t, first.server.Shutdown(t.Context()))
	calls.Wait()
	first.mu.Lock()
	defer first.mu.Unlock()
	for _, err := range first.errors {
		require.ErrorIs(t, err, rls.ErrShutdown)
	}
}
