// What a limiter does when the server fails.
const assert = require('node:assert/strict');
const { afterEach, test } = require('node:test');
const Redis = require('ioredis');
const { startServer } = require('zlimit');

let client;
afterEach(() => client.disconnect()); // before the server ends, with the test

// Admits if the server cannot decide.
async function allowOrOpen(client, key) {
  try {
    const [granted] = await client.call('RL.ALLOW', key, 1, '10s');
    return granted > 0;
  } catch {
    return true;
  }
}

test('it fails open', async (t) => {
  const server = await startServer({ test: t });
  client = new Redis(server.url, { maxRetriesPerRequest: 0 });
  client.on('error', () => {}); // connections that faults close
  assert.equal(await allowOrOpen(client, 'user:42'), true);
  assert.equal(await allowOrOpen(client, 'user:42'), false);

  for (const kind of ['oom', 'loading', 'close']) {
    const fault = await server.faults.inject({ kind, on: 'RL.ALLOW' });
    assert.equal(await allowOrOpen(client, 'user:42'), true, kind);
    assert.equal(await fault.hits(), 1);
  }
});

test('a hit whose reply is lost has counted', async (t) => {
  const server = await startServer({ test: t });
  client = new Redis(server.url, { maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  await client.ping();

  await server.faults.inject({ kind: 'drop-reply', on: 'RL.ALLOW' });
  await assert.rejects(client.call('RL.ALLOW', 'user:42', 1, '10s'));
  assert.equal(await allowOrOpen(client, 'user:42'), false);
});
