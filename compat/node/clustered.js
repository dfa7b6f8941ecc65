'use strict'

// What a client does in a cluster besides the documents' flows. The lines are numbered, not dated.

// A limiter with two keys, which a cluster refuses unless they share a slot.
const TWO_KEYS_SCRIPT = `
return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])
`

// A limiter that uses a key that it does not declare.
const FOREIGN_KEY_SCRIPT = `#!lua
return redis.call('INCR', KEYS[1]) + redis.call('INCR', ARGV[1])
`

// Whether a call was refused, and with which error.
async function judged(promise) {
  try {
    await promise
  } catch (error) {
    return ['refused', { error: error.message.replaceAll(/\s/g, '_') }]
  }
  return ['allowed', {}]
}

async function* inCluster(redis, key) {
  const [here, there] = [`${key}:{a}`, `${key}:{b}`]
  await redis.del(here)
  await redis.del(there)
  yield [1, ...(await judged(redis.eval(TWO_KEYS_SCRIPT, 2, here, there)))]
  yield [2, ...(await judged(redis.eval(FOREIGN_KEY_SCRIPT, 1, here, there)))]
  yield [3, ...(await judged(redis.eval(TWO_KEYS_SCRIPT, 2, here, `${here}:more`)))]
  // Pipelines of ioredis are for one slot of a cluster; what is sent together need not be a pipeline.
  const [one, two] = await Promise.all([redis.incr(here), redis.incr(there)])
  yield [4, 'pipeline', { here: one, there: two }]
  yield [5, 'message', { text: await redis.hear('subscribe', 'publish', here, 'hello') }]
  yield [6, 'shard-message', { text: await redis.hear('ssubscribe', 'spublish', here, 'hello') }]
}

// Commands that only our server has.
async function* ratelimits(redis, key) {
  const held = `${key}:held`
  await redis.del(key)
  await redis.del(held)
  const calls = [
    ['RL.ALLOW', key, 2, '1h'],
    ['RL.ALLOW', key, 2, '1h'],
    ['RL.ALLOW', key, 2, '1h'],
    ['RL.RESERVE', held, 10, '1h', 8, 'HOLD', '1m', 'ID', 'job'],
    ['RL.RESERVE', held, 10, '1h', 8, 'HOLD', '1m', 'ID', 'other'],
    ['RL.SETTLE', held, 'job', 3],
    ['RL.ALLOW', held, 10, '1h', 'COST', 7],
  ]
  for (const [index, words] of calls.entries()) {
    const reply = await redis.call(...words)
    if (reply.length === 2) yield [index + 1, 'settled', { units: reply[0] }]
    else yield [index + 1, reply[0] ? 'allowed' : 'denied', { remaining: reply[2] }]
  }
}

module.exports = { clusterFlows: { cluster: inCluster, rl: ratelimits }, oursOnly: ['rl'] }
