package envoy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

var faults = slices.Concat(
	statusFaults, headerFaults, metadataFaults, requestFaults, configFaults, otherFaults)

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
	{name: "no descriptors are allowed", decide: func(f *faulty, r *inquiry) (*answer, error) {
		if len(r.Descriptors) == 0 {
			return &answer{OverallCode: okCode}, nil
		}
		return f.Reference.Decide(r)
	}},
	{name: "errors of another text", decide: func(f *faulty, r *inquiry) (*answer, error) {
		a, err := f.Reference.Decide(r)
		if err != nil {
			err = fmt.Errorf("ratelimit: %w", err)
		}
		return a, err
	}},
	{name: "errors of another code", decide: func(f *faulty, r *inquiry) (*answer, error) {
		a, err := f.Reference.Decide(r)
		if err != nil {
			err = status.Error(codes.InvalidArgument, err.Error())
		}
		return a, err
	}},
	{name: "duplicates counted once", decide: countOnce},
	{name: "a prefix matches a deeper request", decide: matchPrefix},
}

// countOnce decides about descriptors that are equal to an earlier one without a hit.
func countOnce(f *faulty, r *inquiry) (*answer, error) {
	for i, d := range r.Descriptors {
		same := func(e *common.RateLimitDescriptor) bool { return sameEntries(d, e) }
		if slices.ContainsFunc(r.Descriptors[:i], same) {
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
	{name: "wildcards in reverse", files: func(level descriptorList) descriptorList {
		slices.Reverse(level)
		return level
	}},
	{name: "longest wildcard first", files: func(level descriptorList) descriptorList {
		slices.SortStableFunc(level, func(a, b config.YamlDescriptor) int {
			return len(joined(b)) - len(joined(a))
		})
		return level
	}},
	{name: "wildcards ignored", files: func(level descriptorList) descriptorList {
		return slices.DeleteFunc(level, wildcard)
	}},
	{name: "wildcards need a value", files: func(level descriptorList) descriptorList {
		return slices.DeleteFunc(level, func(d config.YamlDescriptor) bool {
			return wildcard(d) && d.Value == ""
		})
	}},
	{name: "wildcards precede values", files: func(level descriptorList) descriptorList {
		wildcards := slices.DeleteFunc(slices.Clone(level), func(d config.YamlDescriptor) bool {
			return !wildcard(d)
		})
		return slices.DeleteFunc(level, func(d config.YamlDescriptor) bool {
			return !wildcard(d) && slices.ContainsFunc(wildcards, func(w config.YamlDescriptor) bool {
				return d.Value != "" && strings.HasPrefix(joined(d), strings.TrimSuffix(joined(w), "*"))
			})
		})
	}},
	{name: "a key precedes its values", files: func(level descriptorList) descriptorList {
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
	{name: "a key precedes its wildcards", files: func(level descriptorList) descriptorList {
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
		response: inEachDescriptor(func(d fields) {
			for _, e := range d["entries"].GetListValue().GetValues() {
				name := strings.ReplaceAll(e.GetStringValue(), apart, "_")
				e.Kind = &structpb.Value_StringValue{StringValue: name}
			}
		}),
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
	{name: "a refused load is not reported", load: func(f *faulty, files map[string]string) error {
		_ = f.Reference.Load(files)
		return nil
	}},
	{name: "a load is ignored", load: func(f *faulty, files map[string]string) error {
		_, err := f.ReadConfig(files)
		if err == nil && strings.Contains(f.Dump(), domainOf(files)+".") {
			return nil
		}
		return f.Reference.Load(files)
	}},
}
