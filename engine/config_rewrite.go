package engine

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/words"
)

var errNoConfigFile = resp.Error("ERR The server is running without a config file")

// CONFIG REWRITE
func (e *Engine) configRewrite(*commands.Ctx) resp.Value {
	err := e.rewriteConfig(e.cfg.Rewrite, disk.OS)
	switch {
	case errors.Is(err, config.ErrNoFile):
		return errNoConfigFile
	case err != nil:
		e.log.Warn("CONFIG REWRITE failed", "error", err)
		return resp.Error("ERR Rewriting config file: " + resp.OneLine(cReason(err)))
	}
	e.log.Info("CONFIG REWRITE executed with success")
	return resp.OK
}

// DEBUG CONFIG-REWRITE-FORCE-ALL
func (e *Engine) debugConfigRewrite(*commands.Ctx) resp.Value {
	const failed = "ERR CONFIG-REWRITE-FORCE-ALL failed: "
	err := e.rewriteConfig(e.cfg.RewriteAll, disk.OS)
	switch {
	case errors.Is(err, config.ErrNoFile):
		return resp.Error(failed + cReason(syscall.EFAULT)) // as in Redis
	case err != nil:
		return resp.Error(failed + resp.OneLine(cReason(err)))
	}
	return resp.OK
}

// A rewriter is Rewrite or RewriteAll of a config.Config.
type rewriter func(users func() []string, write func(path, text string) error) error

// rewriteConfig writes the configuration file, in the directory that open returns.
func (e *Engine) rewriteConfig(rewrite rewriter, open func(dir string) disk.FS) error {
	return rewrite(e.userLines, func(path, text string) error {
		name := filepath.Base(path)
		temp := name + ".tmp-" + e.runID
		return disk.ReplaceFile(open(filepath.Dir(path)), name, temp, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	})
}

// userLines returns the lines of the configuration file that declare the users, none if
// they are in the ACL file.
func (e *Engine) userLines() (lines []string) {
	if e.cfg.String("aclfile") != "" {
		return nil
	}
	for _, u := range e.users.All() {
		parts := strings.Split(u.Line(), " ")
		for i := range parts {
			parts[i] = words.Spell(parts[i])
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return lines
}
