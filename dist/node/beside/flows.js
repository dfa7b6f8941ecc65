'use strict';
// Runs the documents' flows, limiter libraries and calls of limiters on zlimit and on ioredis-mock, and prints the
// lines that differ: those of differences.txt.
//
//   npm ci --prefix ../../../compat/libraries/node; npm install; ZLIMIT_SERVER=... node flows.js

const { execFile } = require('node:child_process');
const http = require('node:http');
const path = require('node:path');
const Mock = require('ioredis-mock');
const Redis = require('ioredis');
const { flows, scripts } = require('../../../compat/node/flows');
const { defaults } = require('../../../compat/node/instants');
const { startServer } = require('..');

const shown = (value) => (value instanceof Error ? `${value.name}: ${value.message}`.split('\n')[0]
  : JSON.stringify(value));

async function lines(work) {
  const out = [];
  try {
    await work((line) => out.push(line));
  } catch (error) {
    out.push(shown(error));
  }
  return out;
}

async function calls(client, print) {
  await client.set('text', 'x');
  for (const [name, ...args] of CALLS) {
    const reply = await Promise.resolve().then(() => client[name](...args)).catch((e) => e);
    print(`${name} ${args.map((a) => JSON.stringify(a)).join(' ')} -> ${shown(reply)}`);
  }
}

const CALLS = [
  ['zadd', 'text', 1, 'a'],
  ['incr', 'text'],
  ['set', 'n', '9223372036854775807'], ['incr', 'n'],
  ['zadd', 'z', 1, 'a', 1, 'b', 'inf', 'c'], ['zadd', 'z', 'nx', 'ch', 2, 'a'], ['zadd', 'z', 'gt', 5, 'a'],
  ['zrangebyscore', 'z', '(1', '+inf'], ['zremrangebyscore', 'z', '-inf', '(1'], ['zrange', 'z', 0, -1, 'WITHSCORES'],
  ['zscore', 'z', 'c'], ['zcount', 'z', 1, 5], ['zrange', 'z', '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, 1],
  ['zadd', 'z', 'x', 'a'],
  ['expire', 'z', 10, 'NX'], ['expire', 'z', 20, 'NX'], ['expiretime', 'none'], ['pexpire', 'none', 1],
  ['set', 's', 'x', 'PX', 0], ['set', 's', 'x', 'EX', 10, 'GET'], ['getex', 's', 'PERSIST'],
  ['eval', "return redis.call('TIME')[1] ~= nil", 0], ['eval', 'return 3.9', 0], ['eval', 'return {1, nil, 2}', 0],
  ['eval', "return redis.error_reply('MINE no')", 0], ['eval', 'x = 1', 0], ['eval', "return redis.sha1hex('x')", 0],
  ['eval', "return cjson.encode({a = 1})", 0], ['eval', "return bit.band(6, 3)", 0],
  ['eval', "return cmsgpack.unpack(cmsgpack.pack(7))", 0], ['eval', "return redis.call('INCR', 'text')", 0],
  ['eval', "local r = redis.pcall('INCR', 'text') return r.err", 0], ['eval', "return redis.call('SET', KEYS[1], 1).ok", 1, 'k'],
  ['eval', "return tostring(redis.call('GET', 'none'))", 0], ['eval', 'return #ARGV', 0, 'a', 'b'],
  ['eval', "redis.replicate_commands() return 1", 0],
  ['evalsha', 'ffffffffffffffffffffffffffffffffffffffff', 0],
  ['call', 'EVAL', 'return 1', 0], ['call', 'ZADD', 'z', 1, 'q'], ['call', 'RL.ALLOW', 'k2', 1, '10s'],
  ['script', 'LOAD', 'return 1'], ['script', 'EXISTS', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db'],
  ['object', 'ENCODING', 'z'], ['memory', 'USAGE', 'none'], ['client', 'GETNAME'],
];

// The libraries of compat/libraries/node, and their algorithms.
const LIBRARIES = {
  'rate-limiter-flexible': ['fixed-window', 'fixed-window-block'],
  'rate-limit-redis': ['fixed-window'],
  'fastify-rate-limit': ['fixed-window', 'continue-exceeding', 'exponential-backoff'],
};

const START_MS = 1_800_000_000_000; // a whole hour

// Starts a server's clock, which a library's program asks for the time and tells to go on: compat/libraries/README.md.
async function heldClock(set) {
  let now = START_MS;
  await set(now);
  const web = http.createServer(async (request, response) => {
    now += Number(new URL(request.url, 'http://clock').searchParams.get('ms'));
    await set(now);
    response.setHeader('Connection', 'close'); // one that is kept may be closed as it is used again
    response.end(String(now));
  });
  await new Promise((resolve) => { web.listen(0, '127.0.0.1', resolve); });
  return { address: `http://127.0.0.1:${web.address().port}`, close: () => web.close() };
}

// Runs a library's program; the mock lives within it, so that its port does not matter.
async function library(name, algorithm, { port, set, beside }, print) {
  const clock = await heldClock(set);
  const program = path.join(__dirname, '..', '..', '..', 'compat', 'libraries', 'node', 'client.js');
  await new Promise((resolve) => {
    execFile(process.execPath, ['--require', path.join(__dirname, 'instead.js'), program, '--port', port, '--clock',
      clock.address, '--library', name, '--flow', algorithm, '--key', 'beside'],
    { env: { ...process.env, BESIDE: beside }, timeout: 300_000 }, (error, stdout, stderr) => {
      stdout.split('\n').filter((line) => /^\d/.test(line)).forEach(print);
      if (error) {
        print(`failed: ${stderr.split('\n').find((line) => /^\w*Error\b/.test(line)) ?? error.message}`);
      }
      resolve();
    });
  });
  clock.close();
}

let same = 0;

async function compare(name, workOnReal, workOnFake) {
  const [want, got] = await Promise.all([lines(workOnReal), lines(workOnFake)]);
  const differ = [...Array(Math.max(want.length, got.length)).keys()].filter((i) => want[i] !== got[i]);
  same += Math.max(want.length, got.length) - differ.length;
  console.log(`== ${name}: ${differ.length} of ${want.length} lines differ`);
  for (const i of differ) {
    console.log(`   zlimit       ${want[i] ?? '(nothing)'}\n   ioredis-mock ${got[i] ?? '(nothing)'}`);
  }
}

async function main() {
  const server = await startServer({ frozen: true });
  const real = new Redis({ port: server.port, host: server.host, scripts });
  const fake = new Mock();
  for (const [name, definition] of Object.entries(scripts)) {
    fake.defineCommand(name, definition);
  }
  for (const [name, flow] of Object.entries(flows)) {
    const run = async (client, print) => {
      for await (const [instant, decision, details] of flow(client, `key:${name}`, defaults[name])) {
        // A key's time to live may be read on either side of a second.
        print(`${instant} ${decision} ${shown(details).replace(/"ttl":\d+/, '"ttl":"some"')}`);
      }
    };
    await compare(`flow ${name}`, (print) => run(real, print), (print) => run(fake, print));
  }
  await compare('calls', (print) => calls(real, print), (print) => calls(fake, print));
  for (const [name, algorithms] of Object.entries(LIBRARIES)) {
    for (const algorithm of algorithms) {
      await server.reset();
      await server.clock.freeze();
      await compare(`${name} ${algorithm}`,
        (print) => library(name, algorithm, { port: server.port, set: (ms) => server.clock.set(ms) }, print),
        (print) => library(name, algorithm, { port: 0, set: () => {}, beside: 'ioredis-mock' }, print));
    }
  }
  console.log(`${same} lines are the same`);
  real.disconnect();
  fake.disconnect();
  await server.close();
}

main();
