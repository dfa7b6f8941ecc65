package server

import "strings"

// A readCase is what redis-server 7.0.15 made of some bytes: the commands it ran,
// and the error, if any, with which it closed the connection. guest is a connection
// before AUTH. TestReaderMatchesRedis runs every case against a live server.
type readCase struct {
	in    string
	want  [][]string
	err   error
	guest bool
}

func cmd(args ...string) []string { return args }

func cmds(c ...[]string) [][]string { return c }

// readCases returns the cases; a live server has confirmed them.
func readCases() []readCase {
	const ping = "*1\r\n$4\r\nPING\r\n"
	pings := func(n int) (c [][]string) {
		for range n {
			c = append(c, cmd("PING"))
		}
		return c
	}
	x := func(n int) string { return strings.Repeat("x", n) }
	pending := func(in string) readCase { return readCase{in: in} }
	fails := func(in string, err error) readCase { return readCase{in: in, err: err} }
	runs := func(in string, c ...[]string) readCase { return readCase{in: in, want: c} }
	echo := func(in, word string) readCase { return readCase{in: in, want: cmds(cmd("ECHO", word))} }
	guest := func(c readCase) readCase { c.guest = true; return c }
	return []readCase{
		// Counts.
		runs(ping, pings(1)...),
		runs("*0\r\n"+ping, pings(1)...),
		runs("*-1\r\n"+ping, pings(1)...),
		runs("*-5\r\n"+ping, pings(1)...),
		runs("*0\rX"+ping, pings(1)...),
		runs("*-9223372036854775808\r\n"+ping, pings(1)...),
		fails("*-9223372036854775809\r\n", errCountInvalid),
		fails("*x\r\n", errCountInvalid),
		fails("*\r\n", errCountInvalid),
		fails("*+1\r\n", errCountInvalid),
		fails("*01\r\n", errCountInvalid),
		fails("* 1\r\n", errCountInvalid),
		fails("*1 \r\n", errCountInvalid),
		fails("*-0\r\n"+ping, errCountInvalid),
		fails("*00\r\n"+ping, errCountInvalid),
		fails("*--1\r\n", errCountInvalid),
		fails("*-\r\n", errCountInvalid),
		fails("*1\n$4\r\nPING\r\n", errCountInvalid),
		pending("*1048577\r\n"),
		pending("*2147483647\r\n"),
		fails("*2147483648\r\n", errCountInvalid),
		fails("*9223372036854775807\r\n", errCountInvalid),
		fails("*99999999999999999999\r\n", errCountInvalid),
		fails("*0000000000000000000001\r\n", errCountInvalid),
		pending("*"), pending("*1"), pending("*1\r"), pending("*1\r\n"),
		// Lengths.
		runs("*1\r\n$0\r\n\r\n"+ping, cmd(""), cmd("PING")),
		fails("*1\r\n$\r\n", errBulkInvalid),
		fails("*1\r\n$x\r\n", errBulkInvalid),
		fails("*1\r\n$-1\r\n", errBulkInvalid),
		fails("*1\r\n$-100\r\n", errBulkInvalid),
		fails("*1\r\n$-0\r\n\r\n", errBulkInvalid),
		fails("*1\r\n$+4\r\nPING\r\n", errBulkInvalid),
		fails("*1\r\n$04\r\nPING\r\n", errBulkInvalid),
		fails("*1\r\n$4 \r\n", errBulkInvalid),
		fails("*1\r\n$4\nPING\r\n", errBulkInvalid),
		fails("*1\r\n$9223372036854775807\r\n", errBulkInvalid),
		pending("*1\r\n$536870912\r\n"),
		fails("*1\r\n$536870913\r\n", errBulkInvalid),
		pending("*1\r\n$"), pending("*1\r\n$4"), pending("*1\r\n$4\r"), pending("*1\r\n$4\r\n"),
		pending("*1\r\n$4\r\nPING"), pending("*1\r\n$4\r\nPING\r"),
		// No length line.
		fails("*1\r\n4\r\nPING\r\n", expectedDollar('4')),
		fails("*1\r\n:4\r\nPING\r\n", expectedDollar(':')),
		fails("*1\r\n\r\n", expectedDollar('\r')),
		fails("*1\r\n\xff\r\n", expectedDollar(0xff)),
		fails("*1\r\n'\r\n", expectedDollar('\'')),
		fails(ping+"*1\r\nhello\r\n", expectedDollar('h')).after(pings(1)),
		pending("*1\r\n\n\r"),
		pending("*1\r\nx"),
		// NUL hides the line end.
		pending("*1\x00\r\n" + ping), pending("*1\r\n\x00\r\n" + ping), pending("*1\r\n$4\x00\r\nPING\r\n"),
		pending("PING\x00\r\nPING\r\n"), pending("\x00\r\n"), pending("ECHO \"a\x00b\"\r\n"),
		pending("*1\x00" + x(maxLine-3)), fails("*1\x00"+x(maxLine-2), errCountLineTooBig),
		pending("*1\r\n$1\x00" + x(maxLine-3)), fails("*1\r\n$1\x00"+x(maxLine-2), errBulkLineTooBig),
		pending("\x00" + x(maxLine-1)), fails("\x00"+x(maxLine), errInlineTooBig),
		// Lines without an end.
		pending("*" + strings.Repeat("1", maxLine-1)),
		fails("*"+strings.Repeat("1", maxLine), errCountLineTooBig),
		fails("*"+strings.Repeat("0", maxLine-2)+"1\r\n", errCountInvalid),
		pending("*1\r\n$" + strings.Repeat("1", maxLine-1)),
		fails("*1\r\n$"+strings.Repeat("1", maxLine), errBulkLineTooBig),
		fails("*1\r\n$"+strings.Repeat("0", maxLine-2)+"4\r\n", errBulkInvalid),
		fails("*1\r\nx"+x(maxLine), errBulkLineTooBig),
		pending(x(maxLine)), fails(x(maxLine+1), errInlineTooBig),
		runs(x(maxLine)+"\n", cmd(x(maxLine))),
		runs(x(maxLine-1)+"\r\n", cmd(x(maxLine-1))),
		runs(strings.Repeat("\r\n", maxLine)+ping, pings(1)...),
		// Line ends that Redis accepts and redcon does not.
		runs("*1\r\n$4\r\nPINGxx"+ping, pings(2)...),
		runs("*1\r\n$4\r\nPING\n\nPING\r\n", pings(2)...),
		runs("*1\rX$4\r\nPING\r\n"+ping, pings(2)...),
		runs("*1\r\n$4\rXPING\r\n"+ping, pings(2)...),
		runs("*1\rX$4\rXPINGXX"+ping, pings(2)...),
		runs("*2\rX$4\r\nECHO\r\n$12\r\rhello, world\r\r"+ping, cmd("ECHO", "hello, world"), cmd("PING")),
		// Arguments contain any byte.
		runs("*2\r\n$4\r\nECHO\r\n$5\r\n\r\n\x00\r\n\r\n", cmd("ECHO", "\r\n\x00\r\n")),
		runs("*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\r\n\r\n", cmd("ECHO", "\r\n\r\n")),
		runs("*2\r\n$4\r\nECHO\r\n$14\r\n*1\r\n$4\r\nPING\r\n\r\n", cmd("ECHO", ping)),
		runs("*3\r\n$4\r\nECHO\r\n$0\r\n\r\n$1\r\nb\r\n", cmd("ECHO", "", "b")),
		runs("*2\r\n$4\r\nECHO\r\n$20000\r\n"+x(20000)+"\r\n", cmd("ECHO", x(20000))),
		runs("*13\r\n"+strings.Repeat("$1\r\na\r\n", 13), cmd(strings.Split("aaaaaaaaaaaaa", "")...)),
		// Pipelines.
		runs(strings.Repeat(ping, 300), pings(300)...),
		runs(ping+"PING\r\n"+ping+"\r\n"+ping, pings(4)...),
		fails(ping+"*x\r\n"+ping, errCountInvalid).after(pings(1)),
		fails("PING\r\n*1\r\n$x\r\n", errBulkInvalid).after(pings(1)),
		// Inline commands: line ends.
		runs("\r\n\r\nPING\r\n", pings(1)...), runs("\n\nPING\n", pings(1)...),
		runs("   \r\nPING\r\n", pings(1)...),
		runs("PING\n", pings(1)...), runs("PING \r\n", pings(1)...), runs("PING\r\r\n", pings(1)...),
		runs("\r\rPING\r\n", pings(1)...),
		runs("PING\rX\r\n", cmd("PING", "X")), pending("PING\r"), pending("\r"), runs("\r\n"), runs("\n"),
		runs("$4\r\nPING\r\n", cmd("$4"), cmd("PING")),
		// Inline commands: blanks.
		echo("ECHO\ta\r\n", "a"), echo("  ECHO  a  \r\n", "a"), echo("ECHO \v\fa\r\n", "a"),
		echo("ECHO a\vb\r\n", "a\vb"), echo("ECHO a\fb\r\n", "a\fb"),
		runs("ECHO a\tb\r\n", cmd("ECHO", "a", "b")), runs("ECHO a\rb\r\n", cmd("ECHO", "a", "b")),
		runs("ECHO\va\r\n", cmd("ECHO\va")),
		echo("ECHO a\xa0b\r\n", "a\xa0b"), echo("ECHO a\x85b\r\n", "a\x85b"), echo("ECHO \xc3\xa9\r\n", "é"),
		// Inline commands: quotes.
		echo(`ECHO "a b"`+"\r\n", "a b"), echo(`ECHO 'a b'`+"\r\n", "a b"), echo(`ECHO ""`+"\r\n", ""),
		echo(`ECHO ''`+"\r\n", ""),
		echo(`ECHO a"b c"`+"\r\n", "ab c"), echo(`ECHO a'b c'`+"\r\n", "ab c"),
		echo("ECHO \"a\rb\"\r\n", "a\rb"),
		runs(`""`+"\r\n", cmd("")), runs(`"" PING`+"\r\n", cmd("", "PING")),
		runs(`"PING"`+"\r\n", pings(1)...),
		runs(`ECHO "a" b`+"\r\n", cmd("ECHO", "a", "b")), runs("ECHO 'a'\tb\r\n", cmd("ECHO", "a", "b")),
		runs("ECHO \"a\"\vb\r\n", cmd("ECHO", "a", "b")),
		echo(`ECHO '"'`+"\r\n", `"`), echo(`ECHO "'"`+"\r\n", `'`),
		echo(`ECHO "\x41\n\r\t\b\a\q\"\\"`+"\r\n", "A\n\r\t\b\aq\"\\"),
		echo(`ECHO "\xaF\x00\xFf"`+"\r\n", "\xaf\x00\xff"), echo(`ECHO "\x4"`+"\r\n", "x4"),
		echo(`ECHO "\xzz"`+"\r\n", "xzz"), echo(`ECHO "\xG1"`+"\r\n", "xG1"),
		echo(`ECHO "\X41"`+"\r\n", "X41"),
		echo(`ECHO 'a\'b\n\x41\\ '`+"\r\n", `a'b\n\x41\\ `), echo(`ECHO \x41`+"\r\n", `\x41`),
		echo(`ECHO 'a\\'b'`+"\r\n", `a\'b`),
		fails(`ECHO "a"b`+"\r\n", errUnbalancedQuotes), fails(`ECHO 'a'b`+"\r\n", errUnbalancedQuotes),
		fails(`ECHO a"b c"d`+"\r\n", errUnbalancedQuotes), fails(`P"IN"G`+"\r\n", errUnbalancedQuotes),
		fails(`ECHO "a`+"\r\n", errUnbalancedQuotes), fails(`ECHO 'a`+"\r\n", errUnbalancedQuotes),
		fails(`ECHO "a\`+"\r\n", errUnbalancedQuotes), fails(`ECHO 'a\'`+"\r\n", errUnbalancedQuotes),
		fails(`ECHO "`+"\r\n", errUnbalancedQuotes), fails(`ECHO "\x4`+"\r\n", errUnbalancedQuotes),
		fails(`ECHO ""''`+"\r\n", errUnbalancedQuotes),
		fails("PING\r\n'\r\nPING\r\n", errUnbalancedQuotes).after(pings(1)),
		// Before AUTH.
		guest(pending("*10\r\n")), guest(fails("*11\r\n", errCountUnauthenticated)),
		guest(fails("*2147483648\r\n", errCountInvalid)), guest(runs("*-11\r\n"+ping, pings(1)...)),
		guest(pending("*1\r\n$16384\r\n")), guest(fails("*1\r\n$16385\r\n", errBulkUnauthenticated)),
		guest(fails("*1\r\n$536870913\r\n", errBulkInvalid)),
		guest(runs("ECHO "+x(20000)+"\r\n", cmd("ECHO", x(20000)))),
		guest(runs("a b c d e f g h i j k l m n\r\n", cmd(strings.Fields("a b c d e f g h i j k l m n")...))),
		guest(runs("*10\r\n"+strings.Repeat("$1\r\na\r\n", 10), cmd(strings.Split("aaaaaaaaaa", "")...))),
	}
}

// after sets the commands that ran before the error.
func (c readCase) after(ran [][]string) readCase {
	c.want = ran
	return c
}
