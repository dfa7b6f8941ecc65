package scripting

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

func (e *Engine) fcall(c *commands.Ctx) resp.Value   { return e.callLibrary(c, false) }
func (e *Engine) fcallRO(c *commands.Ctx) resp.Value { return e.callLibrary(c, true) }

func (e *Engine) callLibrary(c *commands.Ctx, readOnly bool) resp.Value {
	f := e.library.lookup(string(c.Args[1]))
	if f == nil {
		return resp.Error(errNoFunction)
	}
	if _, ok := store.ParseInt(c.Args[2]); !ok {
		return resp.Error(errNumKeys)
	}
	keys, args, refusal := splitKeys(c.Args)
	if refusal != "" {
		return resp.Error(refusal)
	}
	if text := e.runRefusal(c, f.script.flags, readOnly); text != "" {
		return resp.Error(text)
	}
	if c.Mode.Is(commands.OutOfMemory) && f.script.flags.allowOOM {
		c.Mode.Set(commands.OutOfMemory, false)
		defer c.Mode.Set(commands.OutOfMemory, true)
	}
	return f.call(c, readOnly, keys, args)
}

// functionLoad implements FUNCTION LOAD [REPLACE] code.
func (e *Engine) functionLoad(c *commands.Ctx) resp.Value {
	last := len(c.Args) - 1
	kept := e.library.all()
	others, replace, limit := kept, false, e.maxMemory.Load()
	for _, arg := range c.Args[2:last] {
		if !isWord(arg, "replace") {
			return resp.Error(errLoadOption + string(arg))
		}
		replace, others = true, nil
	}
	if c.Mode.Is(commands.Replayed) { // it was within the limit where it was loaded first
		kept, limit = nil, 0
	}
	lib, err := e.newLibrary(string(c.Args[last]), others, kept)
	if err == nil {
		err = e.library.add([]*library{lib}, false, replace, limit)
	}
	if err != nil {
		return resp.Error(err.Error())
	}
	c.Changed()
	return resp.Bulk(lib.name)
}

// CheckLibrary returns why the source of a library cannot be loaded, or nil.
func (e *Engine) CheckLibrary(source string) error {
	_, err := e.newLibrary(source, nil, nil)
	return err
}

func (e *Engine) functionDelete(c *commands.Ctx) resp.Value {
	if !e.library.remove(string(c.Args[2])) {
		return resp.Error(errNoLibrary)
	}
	c.Changed()
	return resp.OK
}

func (e *Engine) functionFlush(c *commands.Ctx) resp.Value {
	switch {
	case len(c.Args) > 3:
		return resp.Error(fmt.Sprintf(errFunctionSubcommand, c.Args[1]))
	case len(c.Args) == 3 && !isWord(c.Args[2], "sync") && !isWord(c.Args[2], "async"):
		return resp.Error(errFunctionFlush)
	}
	e.library.flush()
	c.Changed()
	return resp.OK
}

// functionList implements FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE].
func (e *Engine) functionList(c *commands.Ctx) resp.Value {
	var pattern []byte
	withCode := false
	for i := 2; i < len(c.Args); i++ {
		switch arg := c.Args[i]; {
		case !withCode && isWord(arg, "withcode"):
			withCode = true
		case pattern == nil && isWord(arg, "libraryname"):
			if i++; i == len(c.Args) {
				return resp.Error(errListName)
			}
			pattern = c.Args[i]
		default:
			return resp.Error(errListArgument + string(arg))
		}
	}
	all, _ := e.library.snapshot()
	var elems []resp.Value
	for _, lib := range all {
		if pattern == nil || commands.GlobMatch(bytes.ToLower(pattern), strings.ToLower(lib.name)) {
			elems = append(elems, lib.describe(withCode))
		}
	}
	return resp.Array(elems...)
}

func (lib *library) describe(withCode bool) resp.Value {
	functions := make([]resp.Value, len(lib.functions))
	for i, f := range lib.functions {
		description := resp.Null
		if !f.description.IsNil() {
			description = resp.Bulk(f.description.Str())
		}
		flags := make([]resp.Value, len(f.flagNames))
		for j, flag := range f.flagNames {
			flags[j] = resp.Status(flag)
		}
		functions[i] = resp.Map(resp.Bulk("name"), resp.Bulk(f.name()),
			resp.Bulk("description"), description, resp.Bulk("flags"), resp.Set(flags...))
	}
	fields := []resp.Value{
		resp.Bulk("library_name"), resp.Bulk(lib.name), resp.Bulk("engine"), resp.Bulk("LUA"),
		resp.Bulk("functions"), resp.Array(functions...),
	}
	if withCode {
		fields = append(fields, resp.Bulk("library_code"), resp.Bulk(lib.source))
	}
	return resp.Map(fields...)
}

func (e *Engine) functionStats(*commands.Ctx) resp.Value {
	run, refusal := e.runs.function()
	if refusal != "" {
		return resp.Error(refusal)
	}
	running := resp.Null
	if run != nil {
		words := make([]resp.Value, len(run.command))
		for i, word := range run.command {
			words[i] = resp.Bulk(string(word))
		}
		running = resp.Map(resp.Bulk("name"), resp.Bulk(run.name), resp.Bulk("command"), resp.Array(words...),
			resp.Bulk("duration_ms"), resp.Int(run.durationMs))
	}
	all, byName := e.library.snapshot()
	return resp.Map(resp.Bulk("running_script"), running,
		resp.Bulk("engines"), resp.Map(resp.Bulk("LUA"), resp.Map(
			resp.Bulk("libraries_count"), resp.Int(int64(len(all))),
			resp.Bulk("functions_count"), resp.Int(int64(len(byName))))))
}

func (e *Engine) functionKill(*commands.Ctx) resp.Value { return e.killRuns(runFunction) }

// function2 is the type byte of a library in a dump.
const function2 = 245

// functionDump writes libraries uncompressed, which Redis accepts.
func (e *Engine) functionDump(*commands.Ctx) resp.Value {
	all, _ := e.library.snapshot()
	var b []byte
	for _, lib := range all {
		b = dump.AppendString(append(b, function2), lib.source)
	}
	return resp.Bulk(string(dump.AppendFooter(b)))
}

// functionRestore implements FUNCTION RESTORE payload [FLUSH | APPEND | REPLACE].
func (e *Engine) functionRestore(c *commands.Ctx) resp.Value {
	flush, replace := false, false
	switch {
	case len(c.Args) > 4:
		return resp.Error(fmt.Sprintf(errFunctionSubcommand, c.Args[1]))
	case len(c.Args) == 4:
		flush, replace = isWord(c.Args[3], "flush"), isWord(c.Args[3], "replace")
		if !flush && !replace && !isWord(c.Args[3], "append") {
			return resp.Error(errRestorePolicy)
		}
	}
	body, err := dump.Open(c.Args[2])
	if err != nil || dump.VersionOf(c.Args[2]) > dump.Version {
		return resp.Error(errDumpFooter)
	}
	var libs []*library
	footer := len(c.Args[2]) - len(body) // Redis reads on into it if a string is truncated
	for r := (dump.Reader{Rest: c.Args[2]}); len(r.Rest) > footer; {
		kind, _ := r.Byte()
		if kind != function2 {
			return resp.Error(errDumpType)
		}
		source, err := r.String()
		if err != nil {
			return resp.Error(errDumpLoad)
		}
		kept := libs
		if c.Mode.Is(commands.Replayed) {
			kept = nil
		}
		lib, err := e.newLibrary(source, libs, kept)
		if err != nil {
			return resp.Error(err.Error())
		}
		libs = append(libs, lib)
	}
	limit := e.maxMemory.Load()
	if c.Mode.Is(commands.Replayed) {
		limit = 0
	}
	if err := e.library.add(libs, flush, replace, limit); err != nil {
		return resp.Error(err.Error())
	}
	c.Changed()
	return resp.OK
}

func (e *Engine) functionHelp(c *commands.Ctx) resp.Value { return helpReply(c, functionHelpText) }

func helpReply(c *commands.Ctx, text string) resp.Value {
	lines := strings.Split(text, "\n")
	elems := c.Values(len(lines))
	for _, line := range lines {
		elems = append(elems, resp.Status(line))
	}
	return resp.Array(elems...)
}

const functionHelpText = `FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
LOAD [REPLACE] <FUNCTION CODE>
    Create a new library with the given library name and code.
DELETE <LIBRARY NAME>
    Delete the given library.
LIST [LIBRARYNAME PATTERN] [WITHCODE]
    Return general information on all the libraries:
    * Library name
    * The engine used to run the Library
    * Library description
    * Functions list
    * Library code (if WITHCODE is given)
    It also possible to get only function that matches a pattern using LIBRARYNAME argument.
STATS
    Return information about the current function running:
    * Function name
    * Command used to run the function
    * Duration in MS that the function is running
    If no function is running, return nil
    In addition, returns a list of available engines.
KILL
    Kill the current running function.
FLUSH [ASYNC|SYNC]
    Delete all the libraries.
    When called without the optional mode argument, the behavior is determined by the
    lazyfree-lazy-user-flush configuration directive. Valid modes are:
    * ASYNC: Asynchronously flush the libraries.
    * SYNC: Synchronously flush the libraries.
DUMP
    Return a serialized payload representing the current libraries, can be restored using ` +
	`FUNCTION RESTORE command
RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]
    Restore the libraries represented by the given payload, it is possible to give a restore policy to
    control how to handle existing libraries (default APPEND):
    * FLUSH: delete all existing libraries.
    * APPEND: appends the restored libraries to the existing libraries. On collision, abort.
    * REPLACE: appends the restored libraries to the existing libraries, On collision, replace the old
      libraries with the new libraries (notice that even on this option there is a chance of failure
      in case of functions name collision with another library).
HELP
    Prints this help.`
