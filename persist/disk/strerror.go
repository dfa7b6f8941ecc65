package disk

import (
	"errors"
	"strings"
	"syscall"
)

// Strerror returns why a file operation has failed, in the form of C's function of this name.
func Strerror(err error) string {
	if cause := syscall.Errno(0); errors.As(err, &cause) {
		err = cause
	}
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}
