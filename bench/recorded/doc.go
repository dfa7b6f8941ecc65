// Package recorded replays what a program has made a Redis server run: the calls of scripts on one key are
// recorded through MONITOR, and then made on as many keys as wanted. So the scripts of others are measured as
// they are installed, and are not copied into this repository.
//
// It measures nothing: bench does. This package is internal to zlimit: it may change in any release.
package recorded
