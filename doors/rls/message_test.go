package rls

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/policy"
)

// message returns an embedded message.
func message(num protowire.Number, parts ...[]byte) []byte {
	var content []byte
	for _, part := range parts {
		content = append(content, part...)
	}
	return appendString(nil, num, content)
}

func number(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}

func text(num protowire.Number, v string) []byte { return appendString(nil, num, v) }

// join returns messages in a row, which is also how protobuf merges them.
func join(parts ...[]byte) []byte {
	var b []byte
	for _, part := range parts {
		b = append(b, part...)
	}
	return b
}

func TestDecode(t *testing.T) {
	entry := func(key, value string) []byte { return message(1, text(1, key), text(2, value)) }
	one, hits, large := uint64(1), uint64(0), uint64(1<<40)
	unknown := join(number(77, 5), text(78, "x"),
		[]byte{0xfb, 0x04, 0x08, 0x01, 0xfc, 0x04}) // a group at last
	tests := []struct {
		name    string
		message []byte
		want    doors.Request
	}{
		{"empty", nil, doors.Request{}},
		{"all", join(
			text(1, "d"),
			message(2, entry("a", "1"), entry("b", "")),
			message(2, entry("c", "3"), message(2, number(1, 10), number(2, 2)),
				message(3, number(1, 1<<40))),
			message(2, message(3)), number(3, 7),
		), doors.Request{Domain: []byte("d"), Hits: 7, Descriptors: []doors.Descriptor{
			{
				Entries: []doors.Entry{
					{Key: []byte("a"), Value: []byte("1")},
					{Key: []byte("b"), Value: []byte{}},
				},
			},
			{
				Entries:  []doors.Entry{{Key: []byte("c"), Value: []byte("3")}},
				Override: &doors.Override{Requests: 10, Unit: policy.Minute}, Hits: &large,
			},
			{Entries: []doors.Entry{}, Hits: &hits},
		}}},
		{"unknown fields", join(
			unknown, message(2, unknown, message(1, unknown, text(1, "k")),
				message(2, unknown, text(1, "no varint")),
				message(3, unknown, number(1, 1))), number(1, 5), text(3, "no varint"),
		), doors.Request{Descriptors: []doors.Descriptor{
			{Entries: []doors.Entry{{Key: []byte("k")}}, Override: &doors.Override{}, Hits: &one},
		}}},
		{"the last wins, and messages merge", join(
			text(1, "x"), text(1, "d"), number(3, 1), number(3, 1<<32|2),
			message(2, message(2, number(1, 5)), message(2, number(2, 7)), message(2, number(3, 1)),
				message(3, number(1, 9)), message(3)),
		), doors.Request{Domain: []byte("d"), Hits: 2, Descriptors: []doors.Descriptor{
			{
				Entries: []doors.Entry{}, Override: &doors.Override{Requests: 5, Unit: policy.Week},
				Hits: ref(9),
			},
		}}},
		{"an unknown unit", message(2, message(2, number(2, 1<<8|1)), number(4, 0)), doors.Request{
			Descriptors: []doors.Descriptor{{Entries: []doors.Entry{}, Override: &doors.Override{}}},
		}},
	}
	var d requestDecoder
	for range 2 { // the memory is used again
		for _, tt := range tests {
			require.NoError(t, d.decode(tt.message), tt.name)
			got := d.request
			for i := range got.Descriptors {
				if len(got.Descriptors[i].Entries) == 0 {
					got.Descriptors[i].Entries = []doors.Entry{}
				}
			}
			if len(got.Descriptors) == 0 {
				got.Descriptors = nil
			}
			require.Equal(t, tt.want, got, tt.name)
		}
	}
}

func ref(v uint64) *uint64 { return &v }

func TestDecodeErrors(t *testing.T) {
	repeat := func(n int, b []byte) []byte {
		var all []byte
		for range n {
			all = append(all, b...)
		}
		return all
	}
	tests := []struct {
		name    string
		message []byte
		err     error
	}{
		{"tag", []byte{0x80}, errMalformed},
		{"field 0", []byte{0x00, 0x01}, errMalformed},
		{"field 2^29", []byte{0x80, 0x80, 0x80, 0x80, 0x10, 0x01}, errMalformed},
		{"length", []byte{0x0a, 0x05, 'd'}, errMalformed},
		{"varint", []byte{0x18, 0x80}, errMalformed},
		{"unknown", []byte{0x5a, 0x05}, errMalformed},
		{"end of a group", []byte{0x5c}, errMalformed},
		{"descriptor's tag", message(2, []byte{0x80}), errMalformed},
		{"descriptor's entry", message(2, []byte{0x0a, 0x05}), errMalformed},
		{"entry's tag", message(2, message(1, []byte{0x80})), errMalformed},
		{"entry's key", message(2, message(1, []byte{0x0a, 0x05})), errMalformed},
		{"override's tag", message(2, message(2, []byte{0x80})), errMalformed},
		{"override's number", message(2, message(2, []byte{0x08, 0x80})), errMalformed},
		{"hits' tag", message(2, message(3, []byte{0x80})), errMalformed},
		{"hits' number", message(2, message(3, []byte{0x08, 0x80})), errMalformed},
		{"negative's number", message(2, []byte{0x20, 0x80}), errMalformed},
		{"domain in UTF-8", text(1, "\xff"), errUTF8},
		{"key in UTF-8", message(2, message(1, text(1, "\xff"))), errUTF8},
		{"value in UTF-8", message(2, message(1, text(2, "\xff"))), errUTF8},
		{"descriptors", repeat(maxDescriptors+1, message(2)), errDescriptors},
		{"entries", message(2, repeat(maxEntries+1, message(1))), errEntries},
		{"negative hits", message(2, number(4, 1)), errNegative},
		{"multiplier", message(2, message(2, number(3, 2))), errMultiplier},
	}
	for _, tt := range tests {
		var d requestDecoder
		require.ErrorIs(t, d.decode(tt.message), tt.err, tt.name)
	}
	var s session
	d := &s.decoder
	require.NoError(t, d.decode(repeat(maxDescriptors, message(2, repeat(maxEntries, message(1))))))
	require.Len(t, d.request.Descriptors[maxDescriptors-1].Entries, maxEntries)
	s.trim()
	require.LessOrEqual(t, cap(d.entries), maxKeptEntries, "the memory of a large request is not kept")
	_, err := decodeService([]byte{0x80})
	require.ErrorIs(t, err, errMalformed)
	_, err = decodeService(text(1, "\xff"))
	require.ErrorIs(t, err, errUTF8)
	name, err := decodeService(join(number(5, 5), text(1, "s")))
	require.NoError(t, err)
	require.Equal(t, "s", string(name))
}

func TestResponse(t *testing.T) {
	request := &doors.Request{Domain: []byte("d")}
	limit := doors.Limit{Name: "n", Requests: 300, Unit: policy.Hour}
	response := &doors.Response{Code: doors.OverLimit, Binding: 1, Statuses: []doors.Status{
		{Code: doors.OK, Remaining: 1<<32 - 1},
		{Code: doors.OverLimit, HasLimit: true, Limit: limit, ResetSeconds: 60, HasReset: true},
		{Code: doors.OK, HasLimit: true, Remaining: 1, ResetSeconds: 9},
		{Code: doors.OK, HasLimit: true, HasReset: true},
		{Code: doors.OK, HasReset: true},
	}}
	want := join(
		number(1, 2),
		message(2, number(1, 1), number(3, 1<<32-1)),
		message(2, number(1, 2), message(2, number(1, 300), number(2, 3), text(3, "n")),
			message(4, number(1, 60))),
		message(2, number(1, 1), message(2), number(3, 1)),
		message(2, number(1, 1), message(2), message(4)),
		message(2, number(1, 1)),
	)
	require.Equal(t, want, appendResponse(nil, request, response, &Options{}))
	headers := join(
		message(3, text(1, "l"), text(2, "300")), message(3, text(1, "r"), text(2, "0")),
		message(3, text(1, "t"), text(2, "60")),
	)
	opts := &Options{Headers: [3]string{"l", "r", "t"}}
	require.Equal(t, join(want, headers), appendResponse(nil, request, response, opts))
	response.Binding = -1
	require.Equal(t, want, appendResponse(nil, request, response, opts))
}

// TestMetadata compares with what the reference implementation has: the same fields, under the same
// conditions.
func TestMetadata(t *testing.T) {
	long := make([]byte, 300)
	for i := range long {
		long[i] = 'x'
	}
	request := &doors.Request{Domain: []byte("d"), Hits: 3, Descriptors: []doors.Descriptor{
		{
			Entries:  []doors.Entry{{Key: []byte("a"), Value: []byte("1")}, {Key: []byte("b"), Value: long}},
			Override: &doors.Override{Requests: 5, Unit: policy.Week}, Hits: ref(0),
		},
		{Override: &doors.Override{Unit: policy.Second}},
		{Override: &doors.Override{Requests: 1}},
		{},
	}}
	response := &doors.Response{Binding: -1, Statuses: []doors.Status{
		{}, {Quota: true, QuotaOver: true}, {Quota: true}, {Quota: true, QuotaOver: true},
	}}
	none := []any{}
	want := map[string]any{
		"domain": "d", "hitsAddend": 3, "quotaModeEnabled": true, "quotaModeViolations": []any{1, 3},
		"descriptors": []any{
			map[string]any{
				"entries": []any{"a=1", "b=" + string(long)}, "limit": "requests_per_unit:5 unit:7",
				"hitsAddend": 0,
			},
			map[string]any{"entries": none, "limit": "unit:SECOND"},
			map[string]any{"entries": none, "limit": "requests_per_unit:1"},
			map[string]any{"entries": none},
		},
	}
	check := func() {
		num, _, n := protowire.ConsumeTag(appendMetadata(nil, request, response))
		require.Equal(t, protowire.Number(6), num)
		content, _ := protowire.ConsumeBytes(appendMetadata(nil, request, response)[n:])
		var got structpb.Struct
		require.NoError(t, proto.Unmarshal(content, &got))
		expected, err := structpb.NewStruct(want)
		require.NoError(t, err)
		require.True(t, proto.Equal(expected, &got), "%v\n%v", expected, &got)
	}
	check()
	request, response = &doors.Request{}, &doors.Response{}
	want = map[string]any{"domain": "", "descriptors": none, "quotaModeEnabled": false}
	check()
}

// TestEmbedded has contents whose length needs one to three bytes.
func TestEmbedded(t *testing.T) {
	for _, size := range []int{0, 127, 128, 16_383, 16_384, 70_000} {
		b, at := begin([]byte("before"), 5)
		b = end(append(b, make([]byte, size)...), at)
		require.Equal(t, join([]byte("before"), message(5, make([]byte, size))), b)
	}
}
