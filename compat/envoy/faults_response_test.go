package envoy

import (
	"slices"
	"strconv"
	"strings"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

type (
	fields         = map[string]*structpb.Value
	descriptorList = []config.YamlDescriptor

	verdict = pb.RateLimitResponse_DescriptorStatus
	answer  = pb.RateLimitResponse
	inquiry = pb.RateLimitRequest
)

const (
	okCode   = pb.RateLimitResponse_OK
	overCode = pb.RateLimitResponse_OVER_LIMIT
)

// statuses returns a change of every status.
func statuses(change func(*verdict)) func(*inquiry, *answer) {
	return func(_ *inquiry, r *answer) {
		for _, s := range r.Statuses {
			change(s)
		}
	}
}

// limits returns a change of every descriptor of a configuration that has a limit.
func limits(change func(*config.YamlDescriptor)) func(descriptorList) descriptorList {
	return descriptors(func(d *config.YamlDescriptor) {
		if d.RateLimit != nil {
			change(d)
		}
	})
}

func descriptors(change func(*config.YamlDescriptor)) func(descriptorList) descriptorList {
	return func(level descriptorList) descriptorList {
		for i := range level {
			change(&level[i])
		}
		return level
	}
}

// inMetadata returns a change of the metadata's fields.
func inMetadata(change func(fields)) func(*inquiry, *answer) {
	return func(_ *inquiry, r *answer) { change(r.DynamicMetadata.Fields) }
}

// domainOf returns the domain of the first file.
func domainOf(files map[string]string) string {
	return config.ConfigFileContentToYaml("a.yaml", files["a.yaml"]).Domain
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func sameEntries(a, b *common.RateLimitDescriptor) bool {
	return slices.EqualFunc(a.Entries, b.Entries, func(a, b *common.RateLimitDescriptor_Entry) bool {
		return proto.Equal(a, b)
	})
}

// unlimited reports whether s is the status of an unlimited descriptor.
func unlimited(s *verdict) bool { return s.CurrentLimit == nil && s.LimitRemaining > 0 }

// joined returns the key and value of d, joined as the reference does.
func joined(d config.YamlDescriptor) string {
	if d.Value == "" {
		return d.Key
	}
	return d.Key + "_" + d.Value
}

func wildcard(d config.YamlDescriptor) bool { return strings.HasSuffix(joined(d), "*") }

var statusFaults = []fault{
	{name: "remaining one less", response: statuses(func(s *verdict) {
		if s.Code == okCode && s.CurrentLimit != nil && s.LimitRemaining > 0 {
			s.LimitRemaining--
		}
	})},
	{name: "remaining 1 when over", response: statuses(func(s *verdict) {
		if s.Code == overCode {
			s.LimitRemaining = 1
		}
	})},
	{name: "unlimited has nothing remaining", response: statuses(func(s *verdict) {
		if unlimited(s) {
			s.LimitRemaining = 0
		}
	})},
	{name: "unlimited has a limit", response: statuses(func(s *verdict) {
		if unlimited(s) {
			s.CurrentLimit = &pb.RateLimitResponse_RateLimit{}
		}
	})},
	{name: "unlimited has a reset", response: statuses(func(s *verdict) {
		if unlimited(s) {
			s.DurationUntilReset = &durationpb.Duration{}
		}
	})},
	{name: "no limit has all remaining", response: statuses(func(s *verdict) {
		if s.CurrentLimit == nil {
			s.LimitRemaining = 1<<32 - 1
		}
	})},
	{name: "reset one second late", response: statuses(func(s *verdict) {
		if s.DurationUntilReset != nil {
			s.DurationUntilReset.Seconds++
		}
	})},
	{name: "no reset", response: statuses(func(s *verdict) { s.DurationUntilReset = nil })},
	{name: "reset of a year has 366 days", response: statuses(func(s *verdict) {
		if s.CurrentLimit.GetUnit() == pb.RateLimitResponse_RateLimit_YEAR && s.DurationUntilReset != nil {
			s.DurationUntilReset.Seconds += 86400
		}
	})},
	{name: "over in quota mode has a reset", response: statuses(func(s *verdict) {
		if s.CurrentLimit != nil && s.DurationUntilReset == nil {
			s.DurationUntilReset = &durationpb.Duration{Seconds: 1}
		}
	})},
	{name: "no limit when over", response: statuses(func(s *verdict) {
		if s.Code == overCode {
			s.CurrentLimit = nil
		}
	})},
	{name: "no name of the limit", response: statuses(func(s *verdict) {
		if s.CurrentLimit != nil {
			s.CurrentLimit.Name = ""
		}
	})},
	{name: "unit unknown", response: statuses(func(s *verdict) {
		if s.CurrentLimit != nil {
			s.CurrentLimit.Unit = 0
		}
	})},
	{name: "code unknown", response: statuses(func(s *verdict) {
		if s.CurrentLimit == nil {
			s.Code = pb.RateLimitResponse_UNKNOWN
		}
	})},
	{name: "overall always OK", response: func(_ *inquiry, r *answer) { r.OverallCode = okCode }},
	{name: "overall of the last descriptor", response: func(_ *inquiry, r *answer) {
		r.OverallCode = r.Statuses[len(r.Statuses)-1].Code
	}},
	{name: "statuses in reverse", response: func(_ *inquiry, r *answer) { slices.Reverse(r.Statuses) }},
}

var headerFaults = []fault{
	{name: "header names", options: func(o *Options) { o.HeaderNames[2] = "x-ratelimit-reset" }},
	{name: "no headers", options: func(o *Options) { o.Headers = false }},
	{name: "no headers when OK", response: func(_ *inquiry, r *answer) {
		if r.OverallCode == okCode {
			r.ResponseHeadersToAdd = nil
		}
	}},
	{name: "no headers when over", response: func(_ *inquiry, r *answer) {
		if r.OverallCode == overCode {
			r.ResponseHeadersToAdd = nil
		}
	}},
	{name: "headers in another order", response: func(_ *inquiry, r *answer) {
		slices.Reverse(r.ResponseHeadersToAdd)
	}},
	{name: "headers of the request", response: func(_ *inquiry, r *answer) {
		r.RequestHeadersToAdd, r.ResponseHeadersToAdd = r.ResponseHeadersToAdd, nil
	}},
	{name: "headers of the first limit", response: headersOf(func(r *answer) *verdict {
		i := slices.IndexFunc(r.Statuses, func(s *verdict) bool { return s.CurrentLimit != nil })
		return r.Statuses[i]
	})},
	{name: "headers of the first that is over", response: headersOf(func(r *answer) *verdict {
		if i := slices.IndexFunc(r.Statuses, func(s *verdict) bool { return s.Code == overCode }); i >= 0 {
			return r.Statuses[i]
		}
		return nil
	})},
}

// headersOf returns a fault in whose headers limit and remaining are those of the status
// that choose returns, unless it is nil.
func headersOf(choose func(*answer) *verdict) func(*inquiry, *answer) {
	return func(_ *inquiry, r *answer) {
		if len(r.ResponseHeadersToAdd) == 0 {
			return
		}
		if s := choose(r); s != nil {
			r.ResponseHeadersToAdd[0].Value = decimal(s.CurrentLimit.RequestsPerUnit)
			r.ResponseHeadersToAdd[1].Value = decimal(s.LimitRemaining)
		}
	}
}

var metadataFaults = []fault{
	{name: "no metadata", options: func(o *Options) { o.Metadata = false }},
	{name: "no domain", response: inMetadata(func(f fields) { delete(f, "domain") })},
	{name: "no descriptors", response: inMetadata(func(f fields) {
		delete(f, "descriptors")
	})},
	{name: "no hits", response: inMetadata(func(f fields) { delete(f, "hitsAddend") })},
	{name: "hits 1 by default", response: inMetadata(func(f fields) {
		if f["hitsAddend"] == nil {
			f["hitsAddend"] = structpb.NewNumberValue(1)
		}
	})},
	{name: "no hits of a descriptor", response: inEachDescriptor(func(d fields) {
		delete(d, "hitsAddend")
	})},
	{name: "no override of a descriptor", response: inEachDescriptor(func(d fields) {
		delete(d, "limit")
	})},
	{name: "no entries of a descriptor", response: inEachDescriptor(func(d fields) {
		delete(d, "entries")
	})},
	{name: "quotaModeEnabled only if true", response: inMetadata(func(f fields) {
		if !f["quotaModeEnabled"].GetBoolValue() {
			delete(f, "quotaModeEnabled")
		}
	})},
	{name: "violations from 1", response: inMetadata(func(f fields) {
		for _, v := range f["quotaModeViolations"].GetListValue().GetValues() {
			v.Kind = &structpb.Value_NumberValue{NumberValue: v.GetNumberValue() + 1}
		}
	})},
	{name: "no violations is a list", response: inMetadata(func(f fields) {
		if f["quotaModeViolations"] == nil {
			f["quotaModeViolations"] = structpb.NewListValue(&structpb.ListValue{})
		}
	})},
}

// inEachDescriptor returns a change of the fields of each descriptor in the metadata.
func inEachDescriptor(change func(fields)) func(*inquiry, *answer) {
	return inMetadata(func(f fields) {
		for _, d := range f["descriptors"].GetListValue().GetValues() {
			change(d.GetStructValue().Fields)
		}
	})
}
