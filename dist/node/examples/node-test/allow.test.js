const assert = require('node:assert/strict');
const { test } = require('node:test');
const { startServer } = require('zlimit');

test('a batch waits', async (t) => {
  const server = await startServer({ test: t, frozen: true });
  const batch = () => server.allow('user:42', 100, '1m', { cost: 60 });

  assert.equal((await batch()).allowed, 60);
  const denied = await batch();
  assert.deepEqual([denied.allowed, denied.remaining], [0, 40]);
  await server.clock.advance(denied.retryAfterMs);
  assert.equal((await batch()).allowed, 60);
});
