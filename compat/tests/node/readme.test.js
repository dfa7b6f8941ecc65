// The README's example for Node.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { start } = require('./server');

async function allow(client, user) {
  const [granted, limit, remaining, retryAfterMs, resetAfterMs] =
    await client.call('RL.ALLOW', `user:${user}`, 100, '1m');
  return granted > 0;
}

test('README', async () => {
  const server = await start();
  for (let i = 0; i < 101; i++) {
    assert.equal(await allow(server.client, '42'), i < 100);
  }
  await server.stop();
});
