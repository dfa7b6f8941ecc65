package accounts

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/resp"
)

var errNoACLFile = resp.Error("ERR This Redis instance is not configured to use an ACL file. You may want " +
	"to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a " +
	"Redis configuration file set) in order to store users in the Redis configuration.")

const maxACLFileBytes = 64 << 20

// loadFile replaces the users by those of aclfile. If the file has an error, nothing
// changes.
func (a *Accounts) loadFile() (deleted []*acl.User, err error) {
	name := a.options.Config.Text("aclfile")
	text, err := readWhole(a.options.Config.String("aclfile"))
	if err != nil {
		//nolint:staticcheck // Redis' text, which begins with a capital
		return nil, fmt.Errorf("Error loading ACLs, opening file '%s': %s", name, disk.Strerror(err))
	}
	file, err := a.ParseFile(name, text, a.allChannels())
	if err != nil {
		return nil, err
	}
	return a.Replace(file), nil
}

func readWhole(path string) (text string, err error) {
	f, err := disk.OS(filepath.Dir(path)).Open(filepath.Base(path))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, maxACLFileBytes+1))
	if err == nil && len(b) > maxACLFileBytes {
		err = fmt.Errorf("it is longer than %d bytes", maxACLFileBytes)
	}
	return string(b), err
}

// ACL LOAD
func (a *Accounts) load(c *commands.Ctx) resp.Value {
	if a.options.Config.String("aclfile") == "" {
		return errNoACLFile
	}
	a.Keep()
	deleted, err := a.loadFile()
	if err != nil {
		return resp.Error("ERR " + resp.OneLine(err.Error()))
	}
	a.options.Caller(c).CutUsers(deleted)
	return resp.OK
}

// ACL SAVE
func (a *Accounts) save(*commands.Ctx) resp.Value {
	path := a.options.Config.String("aclfile")
	if path == "" {
		return errNoACLFile
	}
	dir, name, text := filepath.Dir(path), filepath.Base(path), a.String()
	err := fmt.Errorf("it would be longer than %d bytes", maxACLFileBytes) // and could not be read again
	if len(text) <= maxACLFileBytes {
		err = disk.WriteFile(disk.OS(dir), name, name+".tmp-"+a.options.RunID, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	if err != nil {
		a.options.Log.Warn("ACL SAVE failed", "error", err)
		return resp.Error("ERR There was an error trying to save the ACLs. Please check the server logs " +
			"for more information")
	}
	return resp.OK
}
