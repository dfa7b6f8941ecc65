package server

import (
	"fmt"
	"path/filepath"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/persist/disk"
)

// Check returns the errors for which Listen would refuse a configuration, but for those of sockets and locks,
// and warnings of what would fail later. It reads the files that the directives name, writes nothing, and
// opens no socket.
func Check(c *config.Config) (errs, warnings []error) {
	if _, _, err := upstreamOptions(c); err != nil {
		errs = append(errs, err)
	}
	if _, _, err := newTLS(c); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, engine.New(engine.Options{Config: c, Clock: zlimit.SystemClock()}).CheckConfig()...)
	for _, f := range []struct {
		path, fails string
		wanted      bool
	}{
		{c.Path(), "CONFIG REWRITE", c.Path() != ""},
		{c.String("aclfile"), "ACL SAVE", c.String("aclfile") != ""},
		{
			filepath.Join(c.String("dir"), c.String("dbfilename")), "saving the keys",
			c.Bool("appendonly") || len(c.SavePoints()) > 0,
		},
	} {
		if !f.wanted {
			continue
		}
		if err := disk.Replaceable(f.path); err != nil {
			warnings = append(warnings, fmt.Errorf("%s will fail: %w", f.fails, err))
		}
	}
	return errs, warnings
}
