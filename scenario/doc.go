// Package scenario reads files of commands and their expected replies, and runs them. Only tests import it.
//
// This package is internal to zlimit: it may change in any release.
//
// # The format
//
// A file, whose name ends in .cases, is read line by line. A line that begins with a blank continues the
// line above it, from which one space separates it.
//
//	# comment
//	== title               a section, on its own: it begins with an empty server, at StartMs
//	SET k "a\x00b" EX 10   a command, quoted as redis-cli does; one reply
//	b: GET k               a command on connection b; such names are in lower case
//	= OK                   the reply to the line above, as Show formats it, in which \\ is a backslash
//	                       and \xHH a byte
//	~ RE                   it matches the regular expression, in which ^ and $ are the ends of its lines;
//	                       several lines are several expressions
//	!~ RE                  it does not match
//	|*1                    one CRLF-ended line of its bytes, with bytes outside printable ASCII as \xHH;
//	                       a backslash at its end says that no CRLF follows. With -record a test
//	                       writes these lines
//
// In a file whose replies stand in no other file, a command without an expected reply must not fail.
//
// Directives:
//
//	@resp 3                this section (before the first one: the file) runs under this protocol:
//	                       each connection opens with HELLO 3. Default is RESP2, of transcripts both
//	@redis --name value    when recorded, this section's redis-server gets the flags; ours answers
//	                       so without them
//	@directives --name v   this section's servers get the directives
//	@at MS                 the clock jumps to MS after the section's begin
//	@clock MS              the clock jumps to MS
//	@advance MS            the clock moves by MS
//	@conn B                switch to connection B, opened at its first use; the first is A
//	@close                 close the connection; its next use opens another
//	@noreply CMD           a command without a reply, or with a later one
//	@blocked N             wait until N connections are blocked
//	@ids N                 the next connection that is opened has N as its CLIENT ID, those after
//	                       it N+1 and so on
//	@reply                 the late reply to an earlier command, or a message
//	@raw N "BYTES"         bytes to send verbatim, then N replies
//	@closed                the remaining output until the server closes the connection; none if nothing
//	                       else is expected
//	@save NAME             $NAME in later lines of the section is the reply above, as Show formats it
//
// A test may add directives of its own. Three forms are for replies that cannot be equal byte for byte,
// each with the reason in parentheses:
//
//	@mask /RE/ (why) CMD   what matches RE is not compared
//	@masked (why) CMD      only the types and the sizes of arrays are compared
//	@unordered (why) CMD   arrays, sets and maps are compared as multisets
//
// CMD may be @reply.
//
// Repetition:
//
//	@for a,b in 1,x 2,y    on the line below a title: the section with $a and $b replaced, also in the
//	                       title, by the words of each row
//	@repeat N              the lines up to @end, N times
//	@repeat N i            so, with $i from 0 to N-1
//	-- name                lines that sections insert
//	@insert name           those lines
//	${text*N}              text N times
//	{ms} {ms-5000}         the section's time; the unit is s, ms, us or ns
package scenario

// StartMs is the instant at which sections begin.
const StartMs = 1_700_000_000_000
