-- The functions: those that write, those that also run while memory is exhausted, because
-- they create nothing, and those that change nothing.

local WRITE, RELEASE, READ = {}, { 'allow-oom' }, { 'no-writes' }

local functions = {
  log = { allow_log, WRITE }, log_peek = { allow_log, READ },
  fixed = { allow_fixed, WRITE }, fixed_peek = { allow_fixed, READ },
  gcra = { allow_gcra, WRITE }, gcra_peek = { allow_gcra, READ },
  buckets = { allow_buckets, WRITE }, buckets_peek = { allow_buckets, READ },
  counter = { allow_counter, WRITE }, counter_peek = { allow_counter, READ },
  mallow = { mallow, WRITE }, mallow_peek = { mallow, READ },
  reset = { reset, RELEASE }, refund = { refund, RELEASE }, info = { info, READ },
  reserve = { reserve, WRITE }, settle = { settle, RELEASE },
  acquire = { acquire, WRITE }, renew = { renew, RELEASE }, release = { release, RELEASE },
  adopt = { adopt, WRITE },
  increx = { increx, WRITE },
}

local function run(f, keys, args)
  if not call then
    prepare()
  end
  return f[1](keys, args)
end
