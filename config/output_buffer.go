package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Class is a class of clients in client-output-buffer-limit.
type Class int

// The classes. CONFIG GET shows a replica as slave.
const (
	ClassNormal Class = iota
	ClassReplica
	ClassPubSub

	outputBufferClasses = 3
)

// OutputBufferLimit limits the bytes of replies that a client has not read. The
// zero value is no limit.
type OutputBufferLimit struct {
	HardBytes   int64 // bytes at which a client is disconnected at once; 0: none
	SoftBytes   int64 // bytes at which it is disconnected after SoftSeconds; 0: none
	SoftSeconds int64
}

// Redis' texts.
//
//nolint:revive,staticcheck // Redis' texts
var (
	errLimitWords  = errors.New("Wrong number of arguments in buffer limit configuration.")
	errLimitClass  = errors.New("Invalid client class specified in buffer limit configuration.")
	errLimitNumber = errors.New("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
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

// parseOutputBuffer parses any number of quadruples: class, hard, soft, seconds.
// Classes that are not named keep their limits. Numbers of bytes beyond an int64
// become the largest one.
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

// parseSeconds parses seconds. An empty word is 0, as in Redis.
func parseSeconds(arg string) (int64, bool) {
	if arg == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(arg, 10, 64)
	return n, err == nil && n >= 0
}
