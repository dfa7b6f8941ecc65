package page

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// reading lists the commands that the page may run: those that its panels need. None
// writes or waits.
var reading = []string{
	"info", "client list", "slowlog get", "slowlog len", "latency latest", "latency histogram",
	"rl.explain", "rl.info", "rl.sim", "rl.stats", "rl.top",
}

// maxArguments is more than any of them takes from the page.
const maxArguments = 64

// reads reports whether the page may run a command.
func reads(args []string) bool {
	if len(args) == 0 || len(args) > maxArguments {
		return false
	}
	name := strings.ToLower(args[0])
	if strings.Contains(name, " ") {
		return false
	}
	return slices.Contains(reading, name) ||
		len(args) > 1 && slices.Contains(reading, name+" "+strings.ToLower(args[1]))
}

// command runs the command whose words are the values of "arg" in the query, and answers
// its reply as JSON.
func (p *Page) command(w http.ResponseWriter, r *http.Request) {
	args := r.URL.Query()["arg"]
	if !reads(args) {
		(&refusal{http.StatusBadRequest, "the page runs only: " + strings.Join(reading, ", ")}).write(w)
		return
	}
	c, refused := p.login(r.Context(), r)
	if refused != nil {
		refused.write(w)
		return
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(c.killed, pauseTimeout)
	defer cancel()
	text := []byte(`{"absent":true}`)
	if c.has(args) {
		reply, err := c.do(ctx, args)
		if err != nil {
			(&refusal{http.StatusServiceUnavailable, err.Error()}).write(w)
			return
		}
		text = appendResult(nil, reply)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client may have gone
}

// appendResult appends {"reply": ...} or {"error": "..."}.
func appendResult(b []byte, reply resp.Value) []byte {
	if reply.IsError() {
		return append(appendString(append(b, `{"error":`...), reply.Str()), '}')
	}
	return append(appendReply(append(b, `{"reply":`...), reply), '}')
}
