package scripting

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// Hidden functions are globals with names that no source can spell, like the
// library functions under their full names ("redis.call"). The parser emits
// them; _G does not show them.
const (
	hiddenConcat   = "(concat)"
	hiddenNone     = "(none)" // returns nothing: `...` of a main chunk
	hiddenMod      = "(mod)"
	hiddenLen      = "(len)"
	hiddenForInit  = "(to initial)"
	hiddenForLimit = "(to limit)"
	hiddenForStep  = "(to step)"
	hiddenGlobals  = "(globals)" // the sealed _G, as the target of assignments
)

func hiddenCall(name string, line int, args ...ast.Expr) *ast.FuncCallExpr {
	if args == nil {
		args = []ast.Expr{}
	}
	fn := at(&ast.IdentExpr{Value: name}, line)
	return at(&ast.FuncCallExpr{Func: fn, Args: args, AdjustRet: true}, line)
}

func isConcat(call *ast.FuncCallExpr) bool {
	id, ok := call.Func.(*ast.IdentExpr)
	return ok && id.Value == hiddenConcat
}

// libraries lists the functions in the sealed tables.
var libraries = map[string][]string{
	"redis": {
		"call", "pcall", "log", "setresp", "error_reply", "status_reply", "sha1hex",
		"replicate_commands", "set_repl", "breakpoint", "debug", "acl_check_cmd",
	},
	"string": {
		"byte", "char", "dump", "find", "format", "gfind", "gmatch", "gsub",
		"len", "lower", "match", "rep", "reverse", "sub", "upper",
	},
	"table": {
		"concat", "foreach", "foreachi", "getn", "insert", "maxn", "remove", "setn", "sort",
	},
	"math": {
		"abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg",
		"exp", "floor", "fmod", "frexp", "ldexp", "log", "log10", "max", "min",
		"mod", "modf", "pow", "rad", "random", "randomseed", "sin", "sinh",
		"sqrt", "tan", "tanh",
	},
	"bit": {
		"arshift", "band", "bnot", "bor", "bswap", "bxor", "lshift", "rol", "ror", "rshift", "tobit", "tohex",
	},
	"cjson": {
		"decode", "decode_invalid_numbers", "decode_max_depth", "encode", "encode_invalid_numbers",
		"encode_keep_buffer", "encode_max_depth", "encode_number_precision", "encode_sparse_array", "new",
	},
	"struct":    {"pack", "size", "unpack"},
	"cmsgpack":  {"pack", "unpack", "unpack_limit", "unpack_one"},
	"coroutine": {"create", "resume", "running", "status", "wrap", "yield"},
}

var libraryFunctions = func() map[[2]string]bool {
	m := make(map[[2]string]bool)
	for lib, names := range libraries {
		for _, name := range names {
			m[[2]string{lib, name}] = true
			if lib == "redis" {
				m[[2]string{"server", name}] = true
			}
		}
	}
	return m
}()

func isLibraryFunction(lib, name string) bool { return libraryFunctions[[2]string{lib, name}] }

// splitBoundName splits a name that the parser has bound, such as "redis.call".
func splitBoundName(name string) (lib, field string, ok bool) {
	return strings.Cut(name, ".")
}
