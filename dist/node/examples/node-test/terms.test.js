const assert = require('node:assert/strict');
const { test } = require('node:test');
const { startServer } = require('zlimit');

test('calls of a model', async (t) => {
  const server = await startServer({ test: t, frozen: true });
  const keys = ['{u7}:rpm', '{u7}:tpm', '{u7}:jobs'];
  const reserve = (id) => server.allowAll([
    { key: keys[0], limits: [[60, '1m']] },
    { key: keys[1], limits: [[90_000, '1m'], [1_000_000, '1d']], cost: 50_000 },
    { key: keys[2], max: 10, lease: '2m' },
  ], { hold: '2m', id });

  assert.ok((await reserve('job-1')).allowed);
  const denied = await reserve('job-2');
  assert.deepEqual([denied.allowed, denied.term, denied.remaining], [0, 2, 40_000]);
  const [requests, tokens, slot] = await server.settle(keys, 'job-1', [1, 1430, 0]);
  assert.equal(tokens.counted, 1430);
  assert.ok((await reserve('job-2')).allowed);
  assert.deepEqual(await server.cancel(keys, 'job-2'), [1, 50_000, 1]);
});
