-- The functions: those that write, those that also run while memory is exhausted, because
-- they create nothing, and those that change nothing.

local WRITE, RELEASE, READ = {}, { 'allow-oom' }, { 'no-writes' }

local functions = {
  mallow = { mallow, WRITE }, mallow_peek = { mallow, READ },
  reset = { reset, RELEASE }, refund = { refund, RELEASE }, info = { info, READ },
  reserve = { reserve, WRITE }, settle = { settle, RELEASE },
  acquire = { acquire, WRITE }, renew = { renew, RELEASE }, release = { release, RELEASE },
  adopt = { adopt, WRITE },
  increx = { increx, WRITE },
}

for i = 1, #algorithms do -- while a library is loaded there is no ipairs
  local a = algorithms[i]
  if a.refund then
    local allow = allow_by(a)
    functions[a.name], functions[a.name .. '_peek'] = { allow, WRITE }, { allow, READ }
  end
end

local function run(f, keys, args)
  if not call then
    prepare()
  end
  return f[1](keys, args)
end
