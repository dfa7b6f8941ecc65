// Package terminal runs redis-cli and redis-benchmark in a terminal, as a person does,
// against zlimit-server and redis-server with the same data, and compares the screens.
// The terminals are tmux's; its server has a socket of its own and ends with the test.
//
// A test waits for text on the screen, never for time: the pane's output wakes it.
package terminal
