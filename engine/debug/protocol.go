package debug

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// samples are the values of DEBUG PROTOCOL, as Redis answers them: the tests of clients
// compare them.
var samples = []struct {
	name  string
	value func(proto int) resp.Value
}{
	{"string", sample(resp.Bulk("Hello World"))},
	{"integer", sample(resp.Int(12345))},
	{"double", sample(resp.Double(3.141))},
	{"bignum", sample(resp.BigNumber("1234567999999999999999999999999999999"))},
	{"null", sample(resp.Null)},
	{"array", sample(resp.Array(resp.Int(0), resp.Int(1), resp.Int(2)))},
	{"set", sample(resp.Set(resp.Int(0), resp.Int(1), resp.Int(2)))},
	{"map", sample(resp.Map(resp.Int(0), resp.Bool(false), resp.Int(1), resp.Bool(true),
		resp.Int(2), resp.Bool(false)))},
	{"attrib", sampleAttribute},
	{"push", samplePush},
	{"verbatim", sample(resp.Verbatim("This is a verbatim\nstring"))},
	{"true", sample(resp.Bool(true))},
	{"false", sample(resp.Bool(false))},
}

func sample(v resp.Value) func(int) resp.Value { return func(int) resp.Value { return v } }

// sampleAttribute returns a reply that an attribute precedes, which RESP2 lacks.
func sampleAttribute(proto int) resp.Value {
	reply := resp.Bulk("Some real reply following the attribute")
	if proto == resp.RESP2 {
		return reply
	}
	return resp.Encoded([]byte("|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n" +
		"$39\r\nSome real reply following the attribute\r\n"))
}

// samplePush returns a reply that a push message precedes.
func samplePush(proto int) resp.Value {
	if proto == resp.RESP2 {
		return resp.Error("ERR RESP2 is not supported by this command")
	}
	return resp.Encoded([]byte(">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n" +
		"$40\r\nSome real reply following the push reply\r\n"))
}

var errProtocolType = resp.Error("ERR Wrong protocol type name. Please use one of the following: " +
	sampleNames())

func sampleNames() string {
	var names []string
	for _, s := range samples {
		names = append(names, s.name)
	}
	return strings.Join(names, "|")
}

// DEBUG PROTOCOL type
func protocol(c *commands.Ctx) resp.Value {
	for _, s := range samples {
		if commands.EqualFold(c.Args[2], s.name) {
			return s.value(c.Proto)
		}
	}
	return errProtocolType
}
