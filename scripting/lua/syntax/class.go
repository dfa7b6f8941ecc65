package syntax

// The classes of bytes in the C locale, in which Lua runs.

// IsSpace is C's isspace.
func IsSpace(ch byte) bool { return ch == ' ' || ch >= '\t' && ch <= '\r' }

// IsDigit is C's isdigit.
func IsDigit(ch byte) bool { return '0' <= ch && ch <= '9' }

// IsAlpha is C's isalpha.
func IsAlpha(ch byte) bool { return 'a' <= ch|0x20 && ch|0x20 <= 'z' }

// IsAlnum is C's isalnum.
func IsAlnum(ch byte) bool { return IsAlpha(ch) || IsDigit(ch) }

// IsHex is C's isxdigit.
func IsHex(ch byte) bool { return IsDigit(ch) || 'a' <= ch|0x20 && ch|0x20 <= 'f' }
