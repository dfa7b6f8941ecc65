package envoy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// A Decider is a rate limit service with a clock that only Advance moves.
type Decider interface {
	// Load replaces the configuration by files, by name. If it refuses them, the former
	// configuration stays.
	Load(files map[string]string) error
	Decide(*pb.RateLimitRequest) (*pb.RateLimitResponse, error)
	// Advance moves the clock forward by d, which is in whole milliseconds.
	Advance(d time.Duration) error
}

// Compare sends h to both deciders. Its error describes the first step at which want and
// got differ, with what was asked and both answers.
func Compare(want, got Decider, h *History) error {
	if err := sameLoad(want, got, h.Files); err != nil {
		return fmt.Errorf("seed %d: %w", h.Seed, err)
	}
	for i, s := range h.Steps {
		if err := compareStep(want, got, s); err != nil {
			return fmt.Errorf("seed %d, step %d, after %v: %w\n%s", h.Seed, i, s.Advance, err, h.describe(i))
		}
	}
	return nil
}

func compareStep(want, got Decider, s Step) error {
	if s.Advance > 0 {
		if err := errors.Join(want.Advance(s.Advance), got.Advance(s.Advance)); err != nil {
			return err
		}
	}
	if s.Load != nil {
		if err := sameLoad(want, got, s.Load); err != nil {
			return err
		}
	}
	w, wErr := want.Decide(s.Request)
	if errors.Is(wErr, ErrCrash) {
		return fmt.Errorf("the generator must avoid what ends the reference: %w", wErr)
	}
	g, gErr := got.Decide(s.Request)
	return same(w, wErr, g, gErr)
}

// sameLoad loads files into both, which must accept or refuse them alike. Their texts of
// refusal may differ.
func sameLoad(want, got Decider, files map[string]string) error {
	w, g := want.Load(files), got.Load(files)
	if (w == nil) != (g == nil) {
		return fmt.Errorf("loading\nwant: %s\n got: %s\n%s", errorText(w), errorText(g), describeFiles(files))
	}
	return nil
}

// same compares two answers. Errors are compared by their gRPC code and text.
func same(want *pb.RateLimitResponse, wantErr error, got *pb.RateLimitResponse, gotErr error) error {
	if wantErr != nil || gotErr != nil {
		w, g := status.Convert(wantErr), status.Convert(gotErr)
		if w.Code() != g.Code() || w.Message() != g.Message() {
			return fmt.Errorf("errors differ\nwant: %s\n got: %s", errorText(wantErr), errorText(gotErr))
		}
		return nil
	}
	want, got = normalize(want), normalize(got)
	if !proto.Equal(want, got) {
		return fmt.Errorf("responses differ\nwant: %s\n got: %s", text(want), text(got))
	}
	return nil
}

func errorText(err error) string { return fmt.Sprint(err) }

// normalize returns r without what the reference leaves to chance: the metadata has an
// override in protobuf's text format, which puts one space or two between fields,
// differently in each program.
func normalize(r *pb.RateLimitResponse) *pb.RateLimitResponse {
	r = proto.Clone(r).(*pb.RateLimitResponse)
	for _, d := range r.GetDynamicMetadata().GetFields()["descriptors"].GetListValue().GetValues() {
		fields := d.GetStructValue().GetFields()
		if v, ok := fields["limit"]; ok {
			fields["limit"] = structpb.NewStringValue(strings.Join(strings.Fields(v.GetStringValue()), " "))
		}
	}
	return r
}

func text(m proto.Message) string {
	return prototext.MarshalOptions{Multiline: true, Indent: "  "}.Format(m)
}

// describe returns the configuration in force at a step and the step's request.
func (h *History) describe(at int) string {
	files := h.Files
	for _, s := range h.Steps[:at+1] {
		if _, refused := s.Load["refused.yaml"]; s.Load != nil && !refused {
			files = s.Load
		}
	}
	return fmt.Sprintf("request: %s\n%s", text(h.Steps[at].Request), describeFiles(files))
}

func describeFiles(files map[string]string) string {
	var b strings.Builder
	for name, content := range files {
		fmt.Fprintf(&b, "--- %s\n%s", name, content)
	}
	return b.String()
}
