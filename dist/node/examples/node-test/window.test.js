// A limiter's window edge, without sleeping.
const assert = require('node:assert/strict');
const { after, before, beforeEach, test } = require('node:test');
const Redis = require('ioredis');
const { startServer } = require('zlimit');

let server, client;
before(async () => {
  server = await startServer();
  client = new Redis(server.url);
});
beforeEach(async () => {
  await server.reset();
  await server.clock.freeze();
});
after(async () => {
  client.disconnect();
  await server.close();
});

async function allow(key, limit = 3, window = '10s') {
  const [granted] = await client.call('RL.ALLOW', key, limit, window);
  return granted > 0;
}

for (const [passed, admitted] of [[0, false], [9_999, false], [10_000, true], [3_600_000, true]]) {
  test(`the window's edge, ${passed} ms later`, async () => {
    for (const want of [true, true, true, false]) {
      assert.equal(await allow('user:42'), want);
    }
    await server.clock.advance(passed);
    assert.equal(await allow('user:42'), admitted);
  });
}

test('retry after is exact', async () => {
  assert.ok(await allow('user:42', 1));
  await server.clock.advance(1_234);
  const [granted, limit, remaining, retryAfter] = await client.call('RL.ALLOW', 'user:42', 1, '10s');
  assert.deepEqual([granted, limit, remaining, retryAfter], [0, 1, 0, 8_766]);
  await server.clock.advance(retryAfter - 1);
  assert.ok(!(await allow('user:42', 1)));
  await server.clock.advance(1);
  assert.ok(await allow('user:42', 1));
});

test('expiry follows the same clock', async () => {
  await client.set('session', 'x', 'EX', 60);
  await server.clock.advance(59_000);
  assert.equal(await client.ttl('session'), 1);
  await server.clock.advance(1_001);
  assert.equal(await client.dbsize(), 0);
});
