const assert = require('node:assert/strict');
const { test } = require('node:test');
const Redis = require('ioredis');
const { startServer } = require('zlimit');

test('three requests a minute', async (t) => {
  const server = await startServer({ test: t, frozen: true }); // ends with the test
  const client = new Redis(server.url);
  const allow = async () => (await client.call('RL.ALLOW', 'user:42', 3, '1m'))[0] > 0;

  assert.deepEqual([await allow(), await allow(), await allow(), await allow()], [true, true, true, false]);
  await server.clock.advance(59_999);
  assert.equal(await allow(), false);
  await server.clock.advance(1);
  assert.equal(await allow(), true);
  client.disconnect();
});
