package resp

import "strings"

// CString returns s up to its first NUL byte. Redis keeps the texts of status and error
// replies in C strings.
func CString(s string) string {
	text, _, _ := strings.Cut(s, "\x00")
	return text
}

var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

// OneLine replaces line breaks by spaces, as Redis does in replies of one line.
func OneLine(s string) string {
	if strings.ContainsAny(s, "\r\n") {
		return lineBreaks.Replace(s)
	}
	return s
}
