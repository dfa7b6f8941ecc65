'use strict'

// The limiters of the five documents, as ioredis users write them: the documents' commands, order and units, nothing
// repaired. Each flow is an async generator of [instant, decision, details]; instants are unix milliseconds and the only
// source of time. The reads that fill details come after a decision and are no part of the limiter.

const { createHash } = require('node:crypto')

const ALLOWED = 'allowed'
const DENIED = 'denied'

// The first document's script: milliseconds, no EXPIRE, strings as replies. The score goes through tostring and the
// member does not, so the two are formatted by different rules once an instant has more than 14 digits.
const MILLIS_SCRIPT = `
local key, now = KEYS[1], tonumber(ARGV[1])
local window, threshold = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
if redis.call('ZCARD', key) >= threshold then
  return tostring(0)
end
redis.call('ZADD', key, tostring(now), now)
return tostring(1)
`

// The scripts that ioredis manages: EVAL the first time on a connection, EVALSHA from then on.
const scripts = {
  // The fourth document's flow as one script: the hit is added before it is judged, so a denied hit still counts.
  hitAddFirst: {
    numberOfKeys: 1,
    lua: `
local now, period, max = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - period * 1000)
local count = redis.call('ZCARD', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
if count <= max then return 1 end
return 0
`,
  },
  // The fifth document's: window first, then now, in seconds; the key outlives the window by one second.
  hitSeconds: {
    numberOfKeys: 1,
    lua: `
local oldest = tonumber(ARGV[2]) - tonumber(ARGV[1])
redis.call("ZREMRANGEBYSCORE", KEYS[1], 0, oldest)
local held = redis.call("ZCARD", KEYS[1])
if held >= tonumber(ARGV[3]) then return 0 end
redis.call("ZADD", KEYS[1], ARGV[2], ARGV[2])
redis.call("EXPIRE", KEYS[1], ARGV[1] + 1)
return 1
`,
  },
}

const HASH_TAG_KEY = 'rate_limit:{user_123}:/api/login'

const word = (allowed) => (allowed ? ALLOWED : DENIED)

// Only the exact reply is a decision: 1 where "1" is due is a wrong type, and is printed as what it is.
function judge(reply, allowed, denied) {
  if (reply === allowed) return ALLOWED
  if (reply === denied) return DENIED
  return `reply:${typeof reply}(${String(reply).replaceAll(/\s/g, '_')})`
}

const newest = async (redis, key) => (await redis.zrange(key, -1, -1))[0] ?? 'none'

async function* commandsSeconds(redis, key, instants) {
  const [limit, window] = [100, 60]
  await redis.del(key)
  for (const instant of instants) {
    const now = Math.floor(instant / 1000)
    await redis.zremrangebyscore(key, 0, now - window)
    const allowed = (await redis.zcard(key)) < limit
    if (allowed) {
      await redis.zadd(key, now, now)
      await redis.expire(key, window)
    }
    yield [instant, word(allowed), { zcard: await redis.zcard(key), ttl: await redis.ttl(key) }]
  }
}

// EVALSHA, and EVAL only when the server says NOSCRIPT; tells which of the two answered. ioredis' own scripts would
// begin with EVAL and never meet NOSCRIPT here.
async function evalCached(redis, script, sha, ...args) {
  try {
    return [await redis.evalsha(sha, 1, ...args), 'evalsha']
  } catch (error) {
    if (!error.message.startsWith('NOSCRIPT')) throw error
    return [await redis.eval(script, 1, ...args), 'eval']
  }
}

async function* scriptMillis(redis, key, instants) {
  const sha = createHash('sha1').update(MILLIS_SCRIPT).digest('hex')
  await redis.del(key)
  await redis.script('FLUSH')
  for (const instant of instants) {
    const [reply, via] = await evalCached(redis, MILLIS_SCRIPT, sha, key, String(instant), '60000', '3')
    const details = { via, zcard: await redis.zcard(key), newest: await newest(redis, key), ttl: await redis.ttl(key) }
    yield [instant, judge(reply, '1', '0'), details]
  }
}

async function* pipelineMulti(redis, key, instants) {
  const [period, maximum] = [60, 5]
  await redis.del(key)
  for (const instant of instants) {
    const replies = await redis
      .multi()
      .zadd(key, instant, instant)
      .zremrangebyscore(key, 0, instant - period * 1000)
      .zcard(key)
      .expire(key, period)
      .exec()
    for (const [error] of replies) if (error) throw error
    const [removed, count] = [replies[1][1], replies[2][1]]
    yield [instant, word(count <= maximum), { removed, zcard: count, ttl: await redis.ttl(key) }]
  }
}

async function* pipelineLua(redis, key, instants) {
  await redis.del(key)
  for (const instant of instants) {
    const reply = await redis.hitAddFirst(key, instant, 60, 5)
    yield [instant, judge(reply, 1, 0), { zcard: await redis.zcard(key), ttl: await redis.ttl(key) }]
  }
}

async function* scriptSeconds(redis, key, instants, window = 10, maximum = 100) {
  await redis.del(key)
  for (const instant of instants) {
    const reply = await redis.hitSeconds(key, window, Math.floor(instant / 1000), maximum)
    const details = { zcard: await redis.zcard(key), newest: await newest(redis, key), ttl: await redis.ttl(key) }
    yield [instant, judge(reply, 1, 0), details]
  }
}

async function* rolling(redis, key, instants) {
  const maximum = 10
  const slice = (instant) => `${key}:${Math.floor(instant / 5000)}`
  for (const instant of instants) await redis.del(slice(instant))
  for (const instant of instants) {
    const count = await redis.incrby(slice(instant), 1)
    if (count === 1) await redis.expire(slice(instant), 6)
    yield [instant, word(count <= maximum), { count, ttl: await redis.ttl(slice(instant)) }]
  }
}

// The key is the document's own, whatever --key says. A server that is not a cluster may refuse to name its slot.
async function* hashTag(redis, _key, instants) {
  for await (const [instant, decision, details] of scriptSeconds(redis, HASH_TAG_KEY, instants, 10, 5)) {
    const slot = await redis.cluster('KEYSLOT', HASH_TAG_KEY).catch((error) => {
      if (error.name !== 'ReplyError') throw error
      return 'refused'
    })
    yield [instant, decision, { slot, ...details }]
  }
}

const flows = {
  'commands-seconds': commandsSeconds,
  'script-millis': scriptMillis,
  'pipeline-multi': pipelineMulti,
  'pipeline-collision': pipelineMulti,
  'pipeline-lua': pipelineLua,
  'script-seconds': scriptSeconds,
  rolling,
  'hash-tag': hashTag,
}

module.exports = { flows, scripts }
