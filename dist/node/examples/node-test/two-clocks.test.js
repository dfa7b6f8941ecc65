// Which clock moves what: mock.timers moves Date and the timers of this process, server.clock
// moves TIME, TTLs, scripts and RL.*. A limiter that sends the time as an argument needs both.
const assert = require('node:assert/strict');
const { afterEach, test } = require('node:test');
const Redis = require('ioredis');
const { startServer } = require('zlimit');

let client;
afterEach(() => client?.disconnect()); // before the server ends, with the test

// Admits 3 hits in 60 s, counted in a sorted set under Date.now().
async function allow(client, key) {
  const now = Date.now();
  await client.zremrangebyscore(key, 0, now - 60_000);
  if (await client.zcard(key) >= 3) {
    return false;
  }
  await client.zadd(key, now, `${now}-${Math.random()}`);
  await client.pexpire(key, 60_000);
  return true;
}

test('a limiter that reads Date needs both clocks', async (t) => {
  const now = Date.UTC(2030, 0, 1);
  t.mock.timers.enable({ apis: ['Date'], now });
  const server = await startServer({ test: t, frozen: now });
  client = new Redis(server.url);
  const advance = async (ms) => {
    t.mock.timers.tick(ms);
    await server.clock.advance(ms);
  };

  for (const want of [true, true, true, false]) {
    assert.equal(await allow(client, 'user:42'), want);
  }
  await advance(59_999);
  assert.equal(await allow(client, 'user:42'), false);
  await advance(1);
  assert.equal(await allow(client, 'user:42'), true);
  assert.equal(Date.now(), await server.clock.now());
});

test('neither clock moves the other', async (t) => {
  const now = Date.UTC(2030, 0, 1);
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now });
  const server = await startServer({ test: t, frozen: now }); // starts under mocked timers, too
  let fired = false;
  setTimeout(() => { fired = true; }, 1_000);

  await server.clock.advance(1_000);
  assert.deepEqual([await server.clock.now() - now, Date.now() - now, fired], [1_000, 0, false]);
  t.mock.timers.tick(1_000);
  assert.deepEqual([await server.clock.now() - now, Date.now() - now, fired], [1_000, 1_000, true]);
});
