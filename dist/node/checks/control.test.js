'use strict';
// The clock, faults and plain commands.

const assert = require('node:assert/strict');
const net = require('node:net');
const { after, before, beforeEach, test } = require('node:test');
const { ReplyError, startServer } = require('zlimit');

let server;
before(async () => {
  server = await startServer();
});
beforeEach(() => server.reset());
after(() => server.close());

test('a cluster', async (t) => {
  const server = await startServer({ test: t, cluster: true, frozen: true });
  const script = "return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])";
  assert.equal(await server.command('EVAL', script, 2, '{user}:minute', '{user}:day'), 2);
  await assert.rejects(server.command('EVAL', script, 2, 'user:minute', 'user:day'), /^ReplyError: CROSSSLOT /);
  const [[first, last, node]] = await server.command('CLUSTER', 'SLOTS');
  assert.deepEqual([first, last, ...node.slice(0, 2)], [0, 16383, server.host, server.port]);
  await server.command('SET', 'k', 'v', 'PX', 1000);
  await server.clock.advance(1001);
  assert.equal(await server.command('GET', 'k'), null);
  await server.reset();
  assert.match(await server.command('CLUSTER', 'INFO'), /cluster_state:ok/);
  await assert.rejects(startServer({ cluster: true, path: '/tmp/none' }), TypeError);
});

test('the clock does not go back by advance', async () => {
  for (const ms of [-1, 1.5, NaN, Infinity, '10', undefined]) {
    await assert.rejects(server.clock.advance(ms), RangeError);
  }
  await assert.rejects(server.clock.advance(Number.MAX_SAFE_INTEGER), /clock\.advance: ERR milliseconds must be/);
});

test('set goes back only without keys', async () => {
  await server.clock.freeze();
  const now = await server.clock.now();
  await server.command('SET', 'k', 'v');
  await assert.rejects(server.clock.set(now - 1), /clock\.set: ERR .* only on an empty keyspace/);
  assert.equal(await server.clock.now(), now);
  await server.command('DEL', 'k');
  await server.clock.set(new Date(now - 1));
  assert.equal(await server.clock.now(), now - 1);
  for (const instant of [new Date(NaN), NaN, '2030', undefined, 8.64e15 + 1]) {
    await assert.rejects(server.clock.set(instant), RangeError);
  }
});

test('resume goes on from where the clock is', async () => {
  const instant = Date.UTC(2035, 0, 1);
  await server.clock.set(instant);
  await server.clock.resume();
  assert.ok(await server.clock.now() >= instant);
});

test('without debug commands', async () => {
  const plain = await startServer({ debug: false });
  const why = /: this server was started without debug commands \(--enable-debug-command yes\)$/;
  for (const call of [
    () => plain.clock.freeze(), () => plain.clock.advance(1), () => plain.clock.set(0), () => plain.clock.resume(),
    () => plain.faults.inject({ kind: 'oom' }), () => plain.faults.clear(), () => plain.reset(),
  ]) {
    await assert.rejects(call, why);
  }
  assert.equal(await plain.command('PING'), 'PONG');
  await plain.close();
  await assert.rejects(startServer({ debug: false, frozen: true }), why);
});

test('frozen', async () => {
  const instant = new Date('2030-01-01T00:00:00Z');
  const frozen = await startServer({ frozen: instant });
  assert.equal(await frozen.clock.now(), instant.getTime());
  await frozen.close();
});

test('allow', async () => {
  const decision = (allowed, limit, remaining, retryAfterMs, resetAfterMs) =>
    ({ allowed, limit, remaining, retryAfterMs, resetAfterMs });
  await server.clock.freeze();
  assert.deepEqual(await server.allow('k', 10, '1m', { cost: 4 }), decision(4, 10, 6, 0, 60_000));
  await server.clock.advance(10_000);
  assert.equal((await server.allow('k', 10, 60_000)).allowed, 1);
  await server.clock.advance(10_000);
  assert.deepEqual(await server.allow('k', 10, 60_000, { cost: 7 }), decision(0, 10, 5, 40_000, 50_000));
  assert.deepEqual(await server.allow('k', 10, 60_000, { cost: 0 }), decision(1, 10, 5, 0, 50_000));
  assert.deepEqual(await server.allow('k', 10, 60_000, { cost: 11 }), decision(0, 10, 5, -1, 50_000));
  assert.deepEqual(await server.allow('g', 60, '1m', { cost: 2, algorithm: 'GCRA 5' }), decision(2, 60, 3, 0, 2_000));
});

test('allow refuses', async () => {
  for (const [args, why] of [
    [[-1, '1m'], 'ERR limit must not be negative'],
    [[1, '1 minute'], 'ERR window must be'],
    [[1, 1.5], 'ERR window must be'],
    [[1, '1m', { algorithm: 'NOPE' }], "ERR ALGO 'NOPE' is not"],
  ]) {
    await assert.rejects(server.allow('k', ...args), (error) =>
      error instanceof ReplyError && error.message.startsWith(why) && error.stack.includes('control.test.js'));
  }
  await assert.rejects(server.allow('k', 1, '1m', { algo: 'FIXED' }), {
    name: 'TypeError', message: 'allow: there is no option algo; there are cost, algorithm',
  });
  assert.equal(await server.command('EXISTS', 'k'), 0);
});

test('faults', async () => {
  const fault = await server.faults.inject({ kind: 'refuse', text: 'ERR it broke', on: 'SET', times: 2 });
  await assert.rejects(server.command('SET', 'k', 'v'), (error) =>
    error instanceof ReplyError && error.message === 'ERR it broke' && error.stack.includes('control.test.js'));
  assert.equal(await fault.hits(), 1);
  assert.deepEqual(await server.faults.list(), [
    { id: fault.id, kind: 'refuse', on: 'set', left: 1, hits: 1, after: 0, text: 'ERR it broke', until: '' },
  ]);
  await fault.remove();
  assert.equal(await server.command('SET', 'k', 'v'), 'OK');

  await server.faults.inject({ kind: 'oom', times: Infinity });
  for (let i = 0; i < 3; i++) {
    await assert.rejects(server.command('SET', 'k', 'v'), /^ReplyError: OOM /);
  }
  await server.faults.clear();
  await server.faults.inject({ kind: 'delay', afterMs: 1, on: 'GET' });
  assert.equal(await server.command('GET', 'k'), 'v');
  await server.faults.inject({ kind: 'close', on: 'GET' });
  await assert.rejects(server.command('GET', 'k'), /has closed the connection|ECONNRESET/);
  assert.equal(await server.command('GET', 'k'), 'v');
  await server.faults.inject({ kind: 'delay', afterMs: 1, on: 'GET' });
  await server.reset();
  assert.deepEqual(await server.faults.list(), []);

  await assert.rejects(server.faults.inject({ kind: 'flood' }), /faults\.inject: ERR kind must be/);
  await assert.rejects(server.faults.inject({ kind: 'oom', After: 1 }), TypeError);
});

test('what a client sees of each kind, and what has run', async () => {
  for (const [fault, why, hits] of [
    [{ kind: 'drop-reply' }, /has closed the connection|ECONNRESET/, 1],
    [{ kind: 'close' }, /has closed the connection|ECONNRESET/, 0],
    [{ kind: 'loading' }, /^ReplyError: LOADING /, 0],
    [{ kind: 'oom' }, /^ReplyError: OOM /, 0],
    [{ kind: 'readonly' }, /^ReplyError: READONLY /, 0],
    [{ kind: 'refuse', text: 'MINE no' }, /^ReplyError: MINE no/, 0],
  ]) {
    await server.reset();
    const injected = await server.faults.inject({ ...fault, on: 'INCR' });
    await assert.rejects(server.command('INCR', 'n'), why);
    assert.equal(await injected.hits(), 1);
    assert.equal(await server.command('GET', 'n'), hits ? String(hits) : null, fault.kind);
  }
  await server.faults.inject({ kind: 'noscript' });
  await assert.rejects(server.command('EVALSHA', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', 0), /^ReplyError: NOSCRIPT /);
});

test('a muted command has run, and its connection stays open', async () => {
  const muted = await server.faults.inject({ kind: 'mute', on: 'INCR' });
  const client = net.connect({ host: server.host, port: server.port });
  client.write('INCR n\r\nPING\r\n');
  await muted.met();
  while (await server.command('GET', 'n') !== '1') { /* it may be on its way */ }
  assert.match(await server.command('CLIENT', 'LIST'), new RegExp(` addr=127\\.0\\.0\\.1:${client.localPort} `));
  assert.equal(client.bytesRead, 0);
  client.destroy();
});

test('a command that waits until its fault is removed', async () => {
  for (const release of [(fault) => fault.remove(), () => server.faults.clear(), () => server.reset()]) {
    const held = await server.faults.inject({ kind: 'delay', on: 'INCR', untilRemoved: true });
    let replied = false;
    const reply = server.command('INCR', 'n').finally(() => { replied = true; });
    await held.met();
    assert.equal(await server.command('EXISTS', 'n'), 0);
    assert.ok(!replied);
    await release(held);
    assert.equal(await reply, 1);
    await server.reset();
  }
});

test('clients that a test kills or blocks', async () => {
  await server.clock.freeze();
  const now = await server.clock.now();
  await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
  const blocked = server.command('BLPOP', 'list', 0);
  await server.clock.advance(1);
  assert.equal(await server.clock.now(), now + 1);
  await server.command('RPUSH', 'list', 'a');
  assert.deepEqual(await blocked, ['list', 'a']);
});

test('replies of every kind', async () => {
  const text = 'zürich 北京 '.repeat(20_000); // more than a chunk
  await server.command('SET', 'k', text);
  assert.equal(await server.command('GET', 'k'), text);
  assert.equal(await server.command('GET', 'none'), null);
  assert.equal(await server.command('INCRBY', 'n', 42), 42);
  assert.deepEqual(await server.command('EVAL', 'return {1, {"a", false}, {}}', 0), [1, ['a', null], []]);
  const many = await Promise.all(Array.from({ length: 1_000 }, (_, i) => server.command('ECHO', i)));
  assert.deepEqual(many, Array.from({ length: 1_000 }, (_, i) => String(i)));
});
