package rls

import (
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/policy"
)

// appendResponse appends a RateLimitResponse.
func appendResponse(b []byte, request *doors.Request, response *doors.Response, opts *Options) []byte {
	b = appendUint(b, 1, uint64(response.Code))
	for i := range response.Statuses {
		b = appendStatus(b, &response.Statuses[i])
	}
	if i := response.Binding; opts.Headers[0] != "" && i >= 0 && i < len(response.Statuses) {
		status := &response.Statuses[i]
		b = appendHeader(b, opts.Headers[0], int64(status.Limit.Requests))
		b = appendHeader(b, opts.Headers[1], int64(status.Remaining))
		b = appendHeader(b, opts.Headers[2], status.ResetSeconds)
	}
	if opts.Metadata {
		b = appendMetadata(b, request, response)
	}
	return b
}

func appendStatus(b []byte, status *doors.Status) []byte {
	b, at := begin(b, 2)
	b = appendUint(b, 1, uint64(status.Code))
	if status.HasLimit {
		var limit int
		b, limit = begin(b, 2)
		b = appendUint(b, 1, uint64(status.Limit.Requests))
		b = appendUint(b, 2, uint64(status.Limit.Unit))
		if status.Limit.Name != "" {
			b = appendString(b, 3, status.Limit.Name)
		}
		b = end(b, limit)
	}
	b = appendUint(b, 3, uint64(status.Remaining))
	if status.HasLimit && status.HasReset {
		var reset int
		b, reset = begin(b, 4)
		b = appendUint(b, 1, uint64(status.ResetSeconds))
		b = end(b, reset)
	}
	return end(b, at)
}

// appendHeader appends a HeaderValue to response_headers_to_add.
func appendHeader(b []byte, name string, value int64) []byte {
	var digits [20]byte
	b, at := begin(b, 3)
	b = appendString(b, 1, name)
	b = appendString(b, 2, strconv.AppendInt(digits[:0], value, 10))
	return end(b, at)
}

// The fields of google.protobuf.Value.
const (
	valueNumber = 2
	valueString = 3
	valueBool   = 4
	valueStruct = 5
	valueList   = 6
)

// appendMetadata appends dynamic_metadata: a Struct that repeats the request and says what quotas would have
// denied.
func appendMetadata(b []byte, request *doors.Request, response *doors.Response) []byte {
	b, metadata := begin(b, 6)

	b, at := beginField(b, "domain")
	b = appendString(b, valueString, request.Domain)
	b = endField(b, at)

	b, at = beginField(b, "descriptors")
	b, list := begin(b, valueList)
	for i := range request.Descriptors {
		b = appendDescriptor(b, &request.Descriptors[i])
	}
	b = endField(end(b, list), at)

	if request.Hits != 0 {
		b = appendNumberField(b, "hitsAddend", float64(request.Hits))
	}

	enabled, over := false, false
	for i := range response.Statuses {
		enabled = enabled || response.Statuses[i].Quota
		over = over || response.Statuses[i].QuotaOver
	}
	if over {
		b, at = beginField(b, "quotaModeViolations")
		b, list = begin(b, valueList)
		for i := range response.Statuses {
			if response.Statuses[i].QuotaOver {
				var v int
				b, v = begin(b, 1)
				b = end(appendNumber(b, float64(i)), v)
			}
		}
		b = endField(end(b, list), at)
	}

	b, at = beginField(b, "quotaModeEnabled")
	b = protowire.AppendTag(b, valueBool, protowire.VarintType)
	b = protowire.AppendVarint(b, protowire.EncodeBool(enabled))
	return end(endField(b, at), metadata)
}

// appendDescriptor appends a descriptor's Struct as a value of a list.
func appendDescriptor(b []byte, descriptor *doors.Descriptor) []byte {
	b, value := begin(b, 1)
	b, fields := begin(b, valueStruct)

	b, at := beginField(b, "entries")
	b, list := begin(b, valueList)
	for _, e := range descriptor.Entries {
		var v, s int
		b, v = begin(b, 1)
		b, s = begin(b, valueString)
		b = append(append(append(b, e.Key...), '='), e.Value...)
		b = end(end(b, s), v)
	}
	b = endField(end(b, list), at)

	if o := descriptor.Override; o != nil {
		var s int
		b, at = beginField(b, "limit")
		b, s = begin(b, valueString)
		b = endField(end(appendOverride(b, o), s), at)
	}
	if descriptor.Hits != nil {
		b = appendNumberField(b, "hitsAddend", float64(*descriptor.Hits))
	}
	return end(end(b, fields), value)
}

// unitNames are those of overrides, whose enumeration has no week: its text is the number.
var unitNames = [...]string{
	policy.UnknownUnit: "UNKNOWN", policy.Second: "SECOND", policy.Minute: "MINUTE", policy.Hour: "HOUR",
	policy.Day: "DAY", policy.Month: "MONTH", policy.Year: "YEAR", policy.Week: "7",
}

// appendOverride appends an override in protobuf's text format.
func appendOverride(b []byte, o *doors.Override) []byte {
	if o.Requests != 0 {
		b = strconv.AppendUint(append(b, "requests_per_unit:"...), uint64(o.Requests), 10)
	}
	if o.Unit != policy.UnknownUnit && int(o.Unit) < len(unitNames) {
		if o.Requests != 0 {
			b = append(b, ' ')
		}
		b = append(append(b, "unit:"...), unitNames[o.Unit]...)
	}
	return b
}

// A field is where an entry of a Struct's map and its value begin.
type field struct{ entry, value int }

// beginField begins an entry of a Struct's map, whose value is what is appended until endField.
func beginField(b []byte, key string) ([]byte, field) {
	b, entry := begin(b, 1)
	b = appendString(b, 1, key)
	b, value := begin(b, 2)
	return b, field{entry, value}
}

func endField(b []byte, f field) []byte { return end(end(b, f.value), f.entry) }

func appendNumberField(b []byte, key string, v float64) []byte {
	b, at := beginField(b, key)
	return endField(appendNumber(b, v), at)
}

func appendNumber(b []byte, v float64) []byte {
	b = protowire.AppendTag(b, valueNumber, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(v))
}

// appendUint appends a field, which is omitted if it is 0.
func appendUint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func appendString[S []byte | string](b []byte, num protowire.Number, v S) []byte {
	b = protowire.AppendTag(b, num, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(v)))
	return append(b, v...)
}

// begin appends the tag of an embedded message or a string, with room for a length of one byte. The content
// is what is appended until end is called with the position that begin returns.
func begin(b []byte, num protowire.Number) ([]byte, int) {
	b = append(protowire.AppendTag(b, num, protowire.BytesType), 0)
	return b, len(b)
}

// end writes the length of what was appended since begin, and moves it if the length needs more than one
// byte.
func end(b []byte, at int) []byte {
	size := len(b) - at
	if size < 0x80 {
		b[at-1] = byte(size)
		return b
	}
	more := protowire.SizeVarint(uint64(size)) - 1
	b = slices.Grow(b, more)[:len(b)+more]
	copy(b[at+more:], b[at:at+size])
	protowire.AppendVarint(b[:at-1], uint64(size))
	return b
}
