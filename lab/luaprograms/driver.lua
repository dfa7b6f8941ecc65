-- Runs the programs on standard input, each after a line with its length, and writes the result of each in
-- the same form: "ok" and the values, or "error" and the error. All chunks have the same name.
local input, output, read, unread = io.stdin, io.stdout, "", ""
local pcall, loadstring, type, tostring, pairs, select = pcall, loadstring, type, tostring, pairs, select
local gsub, concat, exit, sethook, setmeta, find = string.gsub, table.concat, os.exit, debug.sethook,
  debug.setmetatable, string.find
local interpreter = _G

for _, name in pairs({"io", "os", "debug", "package", "require", "module", "dofile", "loadfile", "print",
    "newproxy", "getfenv", "setfenv", "arg"}) do
  interpreter[name] = nil
end
math.random, math.randomseed = nil, nil

-- The standard library as it is before each program.
local saved = {}
local function copy(t)
  local fields = {}
  for k, v in pairs(t) do fields[k] = v end
  saved[t] = fields
end
copy(interpreter)
for _, v in pairs(saved[interpreter]) do
  if type(v) == "table" and v ~= interpreter then copy(v) end
end
local string = string

local function restore()
  setmeta(nil, nil)
  setmeta(1, nil)
  setmeta(pcall, nil)
  setmeta("", {__index = string})
  for t, fields in pairs(saved) do
    setmeta(t, nil)
    for k in pairs(t) do t[k] = nil end
    for k, v in pairs(fields) do t[k] = v end
  end
end

local function write(result)
  output:write(#result, "\n", result)
  output:flush()
end

local function describe(v)
  local kind = type(v)
  if kind == "string" then return gsub(v, "0x%x%x%x%x%x%x+", "address") .. "" end
  if kind == "number" or kind == "boolean" or kind == "nil" then
    if v ~= v then return "nan" end
    return tostring(v)
  end
  return kind
end

local function join(ok, ...)
  if not ok then return "error " .. describe((...)) end
  local parts = {"ok"}
  for i = 1, select("#", ...) do parts[i + 1] = describe((select(i, ...))) end
  return concat(parts, " ")
end

local instructions = 20e6
local function timeout()
  write("timeout")
  exit(1)
end

while true do
  local length = input:read("*l")
  if not length then return end
  local source = length ~= "0" and input:read(length + 0) or "" -- read(0) would wait for a byte
  local result
  if find(source, "^\27") then
    result = "binary"
  else
    local chunk, text = loadstring(source, "@user_script")
    if chunk then
      sethook(timeout, "", instructions)
      result = join(pcall(chunk))
      sethook()
    else
      result = "error " .. text
    end
  end
  restore()
  write(result)
end
