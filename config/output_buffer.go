package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Class is a class of clients in client-output-buffer-limit.
type Class int

// The classes. A replica is called slave where CONFIG GET shows it.
const (
	ClassNormal Class = iota
	ClassReplica
	ClassPubSub

	outputBufferClasses = 3
)

// OutputBufferLimit is how many bytes of replies a client may leave untaken.
// The zero value is no limit.
type OutputBufferLimit struct {
	HardBytes   int64 // at once disconnected at this many; 0 is no such limit
	SoftBytes   int64 // disconnected after SoftSeconds at this many; 0 is no such limit
	SoftSeconds int64
}

// Redis' texts.
var (
	errLimitWords  = errors.New("Wrong number of arguments in buffer limit configuration.")                   //nolint:revive,staticcheck // Redis' text
	errLimitClass  = errors.New("Invalid client class specified in buffer limit configuration.")              //nolint:revive,staticcheck // Redis' text
	errLimitNumber = errors.New("Error in hard, soft or soft_seconds setting in buffer limit configuration.") //nolint:revive,staticcheck // Redis' text
)

var classNames = [outputBufferClasses]string{"normal", "slave", "pubsub"}

func classByName(s string) (Class, bool) {
	if asciiEqual(s, "replica") {
		return ClassReplica, true
	}
	for class, name := range classNames {
		if asciiEqual(s, name) {
			return Class(class), true
		}
	}
	return 0, false
}

// parseOutputBuffer reads class, hard, soft, seconds, any number of times. A
// class that is not named keeps what it has; bytes beyond an int64 are the
// largest one.
func parseOutputBuffer(args []string, old value) (value, error) {
	if len(args)%4 != 0 {
		return value{}, errLimitWords
	}
	v := value{limits: old.limits}
	for i := 0; i < len(args); i += 4 {
		class, ok := classByName(args[i])
		if !ok {
			return value{}, errLimitClass
		}
		hard, _, ok1 := parseMemory(args[i+1])
		soft, _, ok2 := parseMemory(args[i+2])
		seconds, ok3 := parseSeconds(args[i+3])
		if !ok1 || !ok2 || !ok3 {
			return value{}, errLimitNumber
		}
		v.limits[class] = OutputBufferLimit{HardBytes: hard, SoftBytes: soft, SoftSeconds: seconds}
	}
	var b strings.Builder
	for class, l := range v.limits {
		if class > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s %d %d %d", classNames[class], l.HardBytes, l.SoftBytes, l.SoftSeconds)
	}
	v.text = b.String()
	return v, nil
}

// parseSeconds takes an empty word for 0, as Redis does.
func parseSeconds(arg string) (int64, bool) {
	if arg == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(arg, 10, 64)
	return n, err == nil && n >= 0
}
