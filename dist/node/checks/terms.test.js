'use strict';
// Calls with several terms, their reservations and settlements.

const assert = require('node:assert/strict');
const { after, before, beforeEach, test } = require('node:test');
const { ReplyError, startServer } = require('zlimit');

const KEYS = ['{u7}:rpm', '{u7}:tpm', '{u7}:jobs'];
const DAY = 86_400_000;

let server;
before(async () => {
  server = await startServer();
});
beforeEach(async () => {
  await server.reset();
  await server.clock.freeze();
});
after(() => server.close());

const decision = (term, allowed, limit, remaining, retryAfterMs, resetAfterMs) =>
  ({ term, allowed, limit, remaining, retryAfterMs, resetAfterMs });

const terms = (tokens) => [
  { key: KEYS[0], limits: [[60, '1m']] },
  { key: KEYS[1], limits: [[90, 60_000], [1000, '1d']], cost: tokens },
  { key: KEYS[2], max: 2, lease: 120_000 },
];

const reserve = (tokens, id) => server.allowAll(terms(tokens), { hold: '2m', id });

// Resolves to what is left of the requests and of the tokens, and the ids with slots.
const remaining = async () => [
  (await server.allow(KEYS[0], 60, '1m', { cost: 0 })).remaining,
  (await server.allow(KEYS[1], 90, '1m', { cost: 0 })).remaining,
  await server.command('ZRANGE', KEYS[2], 0, -1),
];

test('all terms admit the call, or it consumes nothing', async () => {
  const call = () => server.allowAll([
    { key: 'rpm', limits: [[60, '1m']] }, { key: 'tpm', limits: [[90, '1m'], [100, '1d']], cost: 60 },
  ]);
  assert.deepEqual(await call(), decision(2, 60, 90, 30, 0, 60_000));
  await server.clock.advance(10_000);
  const denied = await call();
  assert.deepEqual(denied, decision(2, 0, 100, 40, DAY - 10_000, DAY - 10_000));
  assert.equal((await server.allow('rpm', 60, '1m', { cost: 0 })).remaining, 59);
  await server.clock.advance(denied.retryAfterMs);
  assert.equal((await call()).allowed, 60);
});

test('terms have algorithms', async () => {
  assert.deepEqual(await server.allowAll([
    { key: 'g', limits: [[60, '1m']], cost: 2, algorithm: 'GCRA 5' },
    { key: 'f', limits: [[9, '1mo@UTC:17']], algorithm: 'FIXED' },
  ]), decision(1, 2, 60, 3, 0, 2_000));
  assert.deepEqual((await server.command('RL.INFO', 'f')).slice(0, 2), ['algorithm', 'FIXED']);
});

test('slots', async () => {
  const call = (id) => server.allowAll([
    { key: 'rpm', limits: [[60, '1m']] }, { key: 'jobs', max: 1, lease: '2m' },
  ], { id });
  assert.deepEqual(await call('one'), decision(2, 1, 1, 0, 0, 120_000));
  assert.deepEqual(await call('two'), decision(2, 0, 1, 0, 120_000, 120_000));
  await server.clock.advance(120_000);
  assert.equal((await call('two')).allowed, 1);
  assert.deepEqual(await server.command('ZRANGE', 'jobs', 0, -1), ['two']);
});

test('settle', async () => {
  assert.ok((await reserve(60, 'one')).allowed);
  assert.deepEqual(await remaining(), [59, 30, ['one']]);
  const denied = await reserve(31, 'two');
  assert.deepEqual([denied.term, denied.allowed, denied.remaining], [2, 0, 30]);
  assert.deepEqual(await remaining(), [59, 30, ['one']]);
  assert.deepEqual(await server.settle(KEYS, 'two', [1, 1, 0]), []);

  const settled = [{ counted: 1, excess: 0 }, { counted: 14, excess: 0 }, { counted: 0, excess: 0 }];
  assert.deepEqual(await server.settle(KEYS, 'one', [1, 14, 0]), settled);
  assert.deepEqual(await remaining(), [59, 76, []]);
  assert.deepEqual(await server.settle(KEYS, 'one', [1, 50, 0]), settled, 'the first settlement counts');
  assert.deepEqual(await remaining(), [59, 76, []]);

  assert.ok((await reserve(60, 'two')).allowed);
  assert.deepEqual((await server.settle(KEYS, 'two', [1, 80, 0]))[1], { counted: 80, excess: 20 });
  assert.deepEqual(await remaining(), [58, 0, []]);
});

test('cancel', async () => {
  assert.ok((await reserve(60, 'one')).allowed);
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(await server.cancel(KEYS, 'one'), [1, 60, 1]);
    assert.deepEqual(await remaining(), [60, 90, []]);
  }
  assert.deepEqual(await server.cancel(KEYS, 'none'), []);
  assert.ok((await reserve(60, 'two')).allowed);
  await server.clock.advance(120_001);
  assert.deepEqual(await server.cancel(KEYS, 'two'), [], 'the hold has passed');
});

test('the server refuses', async () => {
  const limits = [[1, '1m']];
  const slots = { key: 'k', max: 1, lease: '1m' };
  await reserve(60, 'one');
  const before = [await server.command('DBSIZE'), await remaining()];
  for (const [call, why] of [
    [() => server.allowAll([]), 'ERR wrong number of arguments'],
    [() => server.allowAll([{ key: 'k', limits }, { key: 'k', limits }]), "ERR key 'k' is named twice"],
    [() => server.allowAll([{ key: 'k', limits: [[-1, '1m']] }]), 'ERR limit must not be negative'],
    [() => server.allowAll([{ key: 'k', limits, cost: 0 }]), 'ERR COST of a term must be at least 1'],
    [() => server.allowAll([slots]), 'ERR syntax error, SLOTS needs an ID'],
    [() => server.allowAll([{ key: 'k', limits }], { id: 'one' }), 'ERR syntax error, ID goes with SLOTS'],
    [() => server.allowAll([{ key: 'k', limits }], { hold: '1m' }), 'ERR syntax error, ID with a value is'],
    [() => server.allowAll([slots], { hold: 1.5, id: 'two' }), 'ERR'],
    [() => server.allowAll([slots], { id: '' }), 'ERR ID must not be empty'],
    [() => server.settle(KEYS, 'one', [1]), 'ERR 3 keys need as many actual costs, not 1'],
  ]) {
    await assert.rejects(call, (error) =>
      error instanceof ReplyError && error.message.startsWith(why) && error.stack.includes('terms.test.js'));
  }
  assert.deepEqual([await server.command('DBSIZE'), await remaining()], before);
});

test('options that do not exist', async () => {
  for (const [terms, options, message] of [
    [[{ key: 'k', limits: [], algo: 'FIXED' }], {},
      'a term of limits: there is no option algo; there are key, limits, cost, algorithm'],
    [[{ key: 'k', max: 1, lease: '1m', cost: 1 }], {},
      'a term of slots: there is no option cost; there are key, max, lease'],
    [[], { peek: true }, 'allowAll: there is no option peek; there are hold, id'],
  ]) {
    await assert.rejects(server.allowAll(terms, options), { name: 'TypeError', message });
  }
});
