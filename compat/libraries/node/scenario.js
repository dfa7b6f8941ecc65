// The scenario every library goes through; compat/libraries/README.md says what its lines mean.
'use strict'

const LIMIT = 5
const LONG = 3600
const EDGE_LIMIT = 4
const EDGE_WINDOW = 2
const CALLERS = 1000
const CROWD_LIMIT = 50

// How far the clock goes on within the short window before each step, in milliseconds, and how often to call.
const EDGE_PLAN = [[0, 5], [1250, 3], [1500, 5], [1250, 0]] // four seconds in all: some limiters know no less than one

// Hits are numbered from 1: the libraries take no instants.
function lines () {
  let number = 0
  const add = (decision, fields) => {
    number++
    console.log([number, decision, ...Object.entries(fields).map(([name, value]) => `${name}=${value}`)].join(' '))
  }
  const hits = answers => answers.forEach(([allowed, fields]) => add(allowed ? 'allowed' : 'denied', fields))
  return { add, hits }
}

// limiter(limit, seconds) gives { hit, close }; hit(key) answers whether the call was allowed and what was reported of it.
async function run (server, clock, key, limiter) {
  const out = lines()
  const long = await limiter(LIMIT, LONG)
  out.hits(await repeat(LIMIT + 3, () => long.hit(`${key}-over`)))
  const short = await limiter(EDGE_LIMIT, EDGE_WINDOW)
  out.hits(await edge(clock, short.hit, `${key}-edge`))
  out.hits(await afterFirst(() => server.script('FLUSH'), long.hit, `${key}-flushed`))
  out.hits(await afterFirst(() => sever(server), long.hit, `${key}-severed`))
  out.hits(await afterFirst(() => server.flushall(), long.hit, `${key}-emptied`))
  out.add('broken', await broken(server, long.hit, `${key}-broken`))
  const wide = await limiter(CROWD_LIMIT, LONG)
  out.add('crowd', await crowd(wide.hit, `${key}-crowd`))
  await Promise.all([long, short, wide].map(each => each.close()))
}

async function repeat (count, call) {
  const answers = []
  for (let i = 0; i < count; i++) answers.push(await call())
  return answers
}

async function edge (clock, hit, key) {
  const answers = []
  for (const [ms, count] of EDGE_PLAN) {
    await clock.advance(ms)
    answers.push(...await repeat(count, () => hit(key)))
  }
  return answers
}

async function afterFirst (disturb, hit, key) {
  const first = await hit(key)
  await disturb()
  return [first, ...await repeat(LIMIT + 1, () => hit(key))]
}

// Closes every connection but this one.
function sever (server) {
  return server.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
}

// Leaves a hash under every key the limiter has made, as an older limiter might have.
async function broken (server, hit, key) {
  await hit(key)
  const names = (await server.keys(`*${key}*`)).sort()
  if (names.length === 0) throw new Error(`the limiter made no key with ${key} in its name`)
  for (const name of names) {
    await server.del(name)
    await server.hset(name, 'left', 'over')
    await server.expire(name, 2 * LONG) // far from LONG, at which a script may turn
  }
  try {
    const [, fields] = await hit(key)
    return { ...fields, error: 'none' }
  } catch (error) {
    return { error: `${error.name}:${error.message}`.replaceAll(' ', '_') }
  }
}

async function crowd (hit, key) {
  const answers = await Promise.all(Array.from({ length: CALLERS }, () => hit(key)))
  const allowed = answers.filter(([allowed]) => allowed).length
  if (allowed !== CROWD_LIMIT) {
    throw new Error(`${allowed} of ${CALLERS} concurrent callers were allowed instead of ${CROWD_LIMIT}`)
  }
  return { allowed, denied: CALLERS - allowed }
}

module.exports = { run }
