package dump

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChecksum(t *testing.T) {
	require.Equal(t, uint64(0xe9c6d914c4b8d9ca), Checksum(0, []byte("123456789")))
	require.Equal(t, Checksum(0, []byte("123456789")), Checksum(Checksum(0, []byte("1234")), []byte("56789")))
}

// fromRedis is a payload of FUNCTION DUMP of redis-server 7.0.15, with the loaded code.
const fromRedis = "" +
	"f5c340be40f51f23216c7561206e616d653d6d796c69620a72656469732e72656769737465725f0e66756e6374696f6e" +
	"28276631272c20e0000e126b6579732c61726773292072657475726e207be00012057d20656e6429e00f49007bc04300" +
	"5f60750227663220570863616c6c6261636b3dc01c03286b2c61e0005a809340230b2827676574272c6b5b315d294065" +
	"2091126c6167733d7b276e6f2d777269746573272c27204c106f772d6f6f6d277d2c206465736372697040c4013d2740" +
	"0c01277d0a007c7a2dd8d3ce0f13"

const code = "#!lua name=mylib\nredis.register_function('f1', function(keys,args) return {keys,args} end)\n" +
	"redis.register_function{function_name='f2', callback=function(k,a) return redis.call('get',k[1]) end, " +
	"flags={'no-writes','allow-oom'}, description='desc'}"

func TestRedisPayload(t *testing.T) {
	payload, err := hex.DecodeString(fromRedis)
	require.NoError(t, err)
	body, err := Open(payload)
	require.NoError(t, err)
	r := Reader{body[1:]}
	s, err := r.String()
	require.NoError(t, err)
	require.Equal(t, code, s)
	require.Empty(t, r.Rest)

	for i := range payload { // the checksum covers every byte
		bad := append([]byte(nil), payload...)
		bad[i]++
		_, err := Open(bad)
		require.ErrorIs(t, err, ErrFooter)
	}
}

func TestStrings(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 16383, 16384, 100000} {
		s := strings.Repeat("x", n)
		r := Reader{AppendString(nil, s)}
		got, err := r.String()
		require.NoError(t, err)
		require.Equal(t, s, got)
		short := Reader{AppendString(nil, s+"y")[:n]}
		_, err = short.String()
		require.Error(t, err)
	}
	for in, want := range map[string]string{
		"\xc0\x05": "5", "\xc0\xff": "-1", "\xc1\x00\x80": "-32768", "\xc2\xff\xff\xff\x7f": "2147483647",
		"\xc3\x02\x01\x00a": "a", "\xc3\x04\x05\x00a\x40\x00": "aaaaa", "\xc3\x04\x06\x00a\x40\x00": "",
		// wrong size
	} {
		r := Reader{[]byte(in)}
		got, err := r.String()
		require.Equal(t, want, got, "%q", in)
		require.Equal(t, want == "", err != nil, "%q", in)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"", "\x05hello", "\xc3\x04\x04\x00a\x20\x00",
		"\x81\xff\xff\xff\xff\xff\xff\xff\xff", "\xc3\x01\x80\xff\xff\xff\xff\x00", "\xc4", "\x82",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := Reader{in}
		s, err := r.String()
		if err == nil && len(s) > longestRepeat*len(in) {
			t.Fatalf("%d bytes from %d", len(s), len(in))
		}
	})
}
