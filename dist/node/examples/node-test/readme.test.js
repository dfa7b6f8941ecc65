// The README's example for Node.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const Redis = require('ioredis');
const { startServer } = require('zlimit');

async function allow(client, user) {
  const [granted, limit, remaining, retryAfterMs, resetAfterMs] =
    await client.call('RL.ALLOW', `user:${user}`, 100, '1m');
  return granted > 0;
}

test('README', async (t) => {
  const server = await startServer({ test: t }); // ends with the test
  const client = new Redis(server.url);
  for (let i = 0; i < 101; i++) {
    assert.equal(await allow(client, '42'), i < 100);
  }
  client.disconnect();
});
