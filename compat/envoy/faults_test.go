package envoy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type (
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
func limits(change func(*config.YamlDescriptor)) func([]config.YamlDescriptor) []config.YamlDescriptor {
	return descriptors(func(d *config.YamlDescriptor) {
		if d.RateLimit != nil {
			change(d)
		}
	})
}

func descriptors(change func(*config.YamlDescriptor)) func([]config.YamlDescriptor) []config.YamlDescriptor {
	return func(level []config.YamlDescriptor) []config.YamlDescriptor {
		for i := range level {
			change(&level[i])
		}
		return level
	}
}

// inMetadata returns a change of the metadata's fields.
func inMetadata(change func(map[string]*structpb.Value)) func(*inquiry, *answer) {
	return func(_ *inquiry, r *answer) { change(r.DynamicMetadata.Fields) }
}

// domainOf returns the domain of the first file.
func domainOf(files map[string]string) string {
	return config.ConfigFileContentToYaml("a.yaml", files["a.yaml"]).Domain
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func sameEntries(a, b *common.RateLimitDescriptor) bool {
	return proto.Equal(&common.RateLimitDescriptor{Entries: a.Entries}, &common.RateLimitDescriptor{Entries: b.Entries})
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

var faults = slices.Concat(statusFaults, headerFaults, metadataFaults, requestFaults, configFaults, otherFaults)

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
	{name: "no domain", response: inMetadata(func(f map[string]*structpb.Value) { delete(f, "domain") })},
	{name: "no descriptors", response: inMetadata(func(f map[string]*structpb.Value) {
		delete(f, "descriptors")
	})},
	{name: "no hits", response: inMetadata(func(f map[string]*structpb.Value) { delete(f, "hitsAddend") })},
	{name: "hits 1 by default", response: inMetadata(func(f map[string]*structpb.Value) {
		if f["hitsAddend"] == nil {
			f["hitsAddend"] = structpb.NewNumberValue(1)
		}
	})},
	{name: "no hits of a descriptor", response: inMetadata(inDescriptors(func(d map[string]*structpb.Value) {
		delete(d, "hitsAddend")
	}))},
	{name: "no override of a descriptor", response: inMetadata(inDescriptors(func(d map[string]*structpb.Value) {
		delete(d, "limit")
	}))},
	{name: "no entries of a descriptor", response: inMetadata(inDescriptors(func(d map[string]*structpb.Value) {
		delete(d, "entries")
	}))},
	{name: "quotaModeEnabled only if true", response: inMetadata(func(f map[string]*structpb.Value) {
		if !f["quotaModeEnabled"].GetBoolValue() {
			delete(f, "quotaModeEnabled")
		}
	})},
	{name: "violations from 1", response: inMetadata(func(f map[string]*structpb.Value) {
		for _, v := range f["quotaModeViolations"].GetListValue().GetValues() {
			v.Kind = &structpb.Value_NumberValue{NumberValue: v.GetNumberValue() + 1}
		}
	})},
	{name: "no violations is a list", response: inMetadata(func(f map[string]*structpb.Value) {
		if f["quotaModeViolations"] == nil {
			f["quotaModeViolations"] = structpb.NewListValue(&structpb.ListValue{})
		}
	})},
}

func inDescriptors(change func(map[string]*structpb.Value)) func(map[string]*structpb.Value) {
	return func(f map[string]*structpb.Value) {
		for _, d := range f["descriptors"].GetListValue().GetValues() {
			change(d.GetStructValue().Fields)
		}
	}
}

var requestFaults = []fault{
	{name: "hits_addend ignored", request: func(r *inquiry) { r.HitsAddend = 0 }},
	{name: "a descriptor's hits_addend ignored", request: func(r *inquiry) {
		for _, d := range r.Descriptors {
			d.HitsAddend = nil
		}
	}},
	{name: "a descriptor's hits_addend 0 counts 1", request: func(r *inquiry) {
		for _, d := range r.Descriptors {
			if d.HitsAddend != nil && d.HitsAddend.Value == 0 {
				d.HitsAddend.Value = 1
			}
		}
	}},
	{name: "a descriptor's hits_addend has 32 bits", request: func(r *inquiry) {
		for _, d := range r.Descriptors {
			if d.HitsAddend != nil {
				d.HitsAddend = wrapperspb.UInt64(d.HitsAddend.Value & (1<<32 - 1))
			}
		}
	}},
	{name: "override ignored", request: func(r *inquiry) {
		for _, d := range r.Descriptors {
			d.Limit = nil
		}
	}},
	{name: "empty domain is unknown", request: func(r *inquiry) { r.Domain = cmp.Or(r.Domain, "unknown") }},
	{name: "duplicates counted once", decide: countOnce},
	{name: "a prefix matches a deeper request", decide: matchPrefix},
}

// countOnce decides about descriptors that are equal to an earlier one without a hit.
func countOnce(f *faulty, r *inquiry) (*answer, error) {
	for i, d := range r.Descriptors {
		if slices.ContainsFunc(r.Descriptors[:i], func(e *common.RateLimitDescriptor) bool { return sameEntries(d, e) }) {
			d.HitsAddend = wrapperspb.UInt64(0)
		}
	}
	return f.Reference.Decide(r)
}

// matchPrefix decides about a descriptor without a limit again, without its last entry.
func matchPrefix(f *faulty, r *inquiry) (*answer, error) {
	a, err := f.Reference.Decide(r)
	if err != nil {
		return nil, err
	}
	for i, s := range a.Statuses {
		if d := r.Descriptors[i]; s.CurrentLimit == nil && s.LimitRemaining == 0 && len(d.Entries) > 1 {
			d.Entries = d.Entries[:len(d.Entries)-1]
			one, err := f.Reference.Decide(&inquiry{Domain: r.Domain, Descriptors: r.Descriptors[i : i+1]})
			if err != nil {
				return nil, err
			}
			a.Statuses[i] = one.Statuses[0]
		}
	}
	return a, nil
}

// apart replaces "_" in keys.
const apart = "\u2017"

var configFaults = []fault{
	{name: "shadow mode ignored", files: limits(func(d *config.YamlDescriptor) { d.ShadowMode = false })},
	{name: "quota mode ignored", files: limits(func(d *config.YamlDescriptor) { d.QuotaMode = false })},
	{name: "quota mode is shadow mode", files: limits(func(d *config.YamlDescriptor) {
		d.ShadowMode, d.QuotaMode = d.ShadowMode || d.QuotaMode, false
	})},
	{name: "replaces ignored", files: limits(func(d *config.YamlDescriptor) { d.RateLimit.Replaces = nil })},
	{name: "unlimited replaces nothing", files: limits(func(d *config.YamlDescriptor) {
		if d.RateLimit.Unlimited {
			d.RateLimit.Replaces = nil
		}
	})},
	{name: "replaces one name only", files: limits(func(d *config.YamlDescriptor) {
		d.RateLimit.Replaces = d.RateLimit.Replaces[:min(1, len(d.RateLimit.Replaces))]
	})},
	{name: "share_threshold ignored", files: descriptors(func(d *config.YamlDescriptor) {
		d.ShareThreshold = false
	})},
	{name: "share_threshold of a limit only", files: descriptors(func(d *config.YamlDescriptor) {
		d.ShareThreshold = d.ShareThreshold && d.RateLimit != nil
	})},
	{name: "unlimited ignored", files: limits(func(d *config.YamlDescriptor) {
		if d.RateLimit.Unlimited {
			d.RateLimit.Unlimited, d.RateLimit.Unit = false, "day"
		}
	})},
	{name: "a limit of 0 is unlimited", files: limits(func(d *config.YamlDescriptor) {
		if d.RateLimit.RequestsPerUnit == 0 && !d.RateLimit.Unlimited {
			d.RateLimit.Unlimited, d.RateLimit.Unit = true, ""
		}
	})},
	{name: "a week is a month", files: limits(func(d *config.YamlDescriptor) {
		if d.RateLimit.Unit == "week" {
			d.RateLimit.Unit = "month"
		}
	})},
	{name: "wildcards in reverse", files: func(level []config.YamlDescriptor) []config.YamlDescriptor {
		slices.Reverse(level)
		return level
	}},
	{name: "longest wildcard first", files: func(level []config.YamlDescriptor) []config.YamlDescriptor {
		slices.SortStableFunc(level, func(a, b config.YamlDescriptor) int { return len(joined(b)) - len(joined(a)) })
		return level
	}},
	{name: "wildcards ignored", files: func(level []config.YamlDescriptor) []config.YamlDescriptor {
		return slices.DeleteFunc(level, wildcard)
	}},
	{name: "wildcards need a value", files: func(level []config.YamlDescriptor) []config.YamlDescriptor {
		return slices.DeleteFunc(level, func(d config.YamlDescriptor) bool {
			return wildcard(d) && d.Value == ""
		})
	}},
	{name: "a key precedes its values", files: func(level []config.YamlDescriptor) []config.YamlDescriptor {
		for _, plain := range level {
			if plain.Value == "" && !wildcard(plain) {
				level = slices.DeleteFunc(level, func(d config.YamlDescriptor) bool {
					return d.Key == plain.Key && d.Value != ""
				})
				return level
			}
		}
		return level
	}},
	{name: "a key precedes its wildcards", files: func(level []config.YamlDescriptor) []config.YamlDescriptor {
		for _, plain := range level {
			if plain.Value == "" && !wildcard(plain) {
				level = slices.DeleteFunc(level, func(d config.YamlDescriptor) bool {
					return d.Key == plain.Key && wildcard(d)
				})
				return level
			}
		}
		return level
	}},
	{name: "wildcards have no descriptors", files: descriptors(func(d *config.YamlDescriptor) {
		if wildcard(*d) {
			d.Descriptors = nil
		}
	})},
	{
		name:  "names do not run together",
		files: descriptors(func(d *config.YamlDescriptor) { d.Key = strings.ReplaceAll(d.Key, "_", apart) }),
		request: func(r *inquiry) {
			for _, d := range r.Descriptors {
				for _, e := range d.Entries {
					e.Key = strings.ReplaceAll(e.Key, "_", apart)
				}
			}
		},
		response: inMetadata(inDescriptors(func(d map[string]*structpb.Value) {
			for _, e := range d["entries"].GetListValue().GetValues() {
				e.Kind = &structpb.Value_StringValue{StringValue: strings.ReplaceAll(e.GetStringValue(), apart, "_")}
			}
		})),
	},
	{name: "keys without case", files: descriptors(func(d *config.YamlDescriptor) {
		if d.Key == "Path" {
			d.Key, d.Value = "path", d.Value+"ph"
		}
	})},
}

var otherFaults = []fault{
	{name: "shadow mode everywhere", options: func(o *Options) { o.ShadowMode = true }},
	{name: "quota mode everywhere", options: func(o *Options) { o.QuotaMode = true }},
	{name: "denied hits not counted", options: func(o *Options) { o.StopIncrement = true }},
	{name: "seconds rounded up", advance: func(d time.Duration) time.Duration {
		return (d + time.Second - 1).Truncate(time.Second)
	}},
	{name: "the clock stands still", advance: func(time.Duration) time.Duration { return 0 }},
	{name: "a load resets the counters", load: func(f *faulty, files map[string]string) error {
		now := f.NowMs()
		f.Reference = newReference(f.t, f.addr, f.options)
		f.nowMs.Store(now)
		return f.Reference.Load(files)
	}},
	{name: "a refused load empties the configuration", load: func(f *faulty, files map[string]string) error {
		err := f.Reference.Load(files)
		if err != nil {
			_ = f.Reference.Load(map[string]string{"a.yaml": "domain: nothing"}) // it is valid
		}
		return err
	}},
	{name: "a load is ignored", load: func(f *faulty, files map[string]string) error {
		_, err := f.ReadConfig(files)
		if err == nil && strings.Contains(f.Dump(), domainOf(files)+".") {
			return nil
		}
		return f.Reference.Load(files)
	}},
}
