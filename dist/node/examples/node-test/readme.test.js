// The examples for Node of README and docs/clients.md.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const Redis = require('ioredis');
const { createClient } = require('redis');
const { startServer } = require('zlimit');

async function allow(client, user) {
  const [granted, limit, remaining, retryAfterMs, resetAfterMs] =
    await client.call('RL.ALLOW', `user:${user}`, 100, '1m');
  return granted > 0;
}

async function allowThroughNodeRedis(client, user) {
  const [granted, limit, remaining, retryAfterMs, resetAfterMs] =
    await client.sendCommand(['RL.ALLOW', `user:${user}`, '100', '1m']); // strings only
  return granted > 0;
}

test('ioredis', async (t) => {
  const server = await startServer({ test: t }); // ends with the test
  const client = new Redis(server.url);
  for (let i = 0; i < 101; i++) {
    assert.equal(await allow(client, '42'), i < 100);
  }
  client.disconnect();
});

test('node-redis', async (t) => {
  const server = await startServer({ test: t });
  const client = await createClient({ url: server.url }).connect();
  for (let i = 0; i < 101; i++) {
    assert.equal(await allowThroughNodeRedis(client, '42'), i < 100);
  }
  client.destroy();
});
