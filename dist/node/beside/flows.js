'use strict';
// Runs the documents' flows and limiter libraries on zlimit and on ioredis-mock, and prints the
// lines that differ: those of differences.txt.
//
//   npm install; ZLIMIT_SERVER=... node flows.js

const Mock = require('ioredis-mock');
const Redis = require('ioredis');
const { RateLimiterRedis } = require('rate-limiter-flexible');
const { RedisStore } = require('rate-limit-redis');
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

// Each takes a client and what prints a line.
const limiters = {
  async 'rate-limiter-flexible'(client, print) {
    const limiter = new RateLimiterRedis({ storeClient: client, points: 3, duration: 10 });
    for (let i = 0; i < 5; i++) {
      const { remainingPoints, consumedPoints } = await limiter.consume('k').catch((e) => e);
      print(shown([remainingPoints, consumedPoints]));
    }
  },
  async 'rate-limiter-flexible, after SCRIPT FLUSH'(client, print) {
    const limiter = new RateLimiterRedis({ storeClient: client, points: 3, duration: 10, keyPrefix: 'f' });
    await limiter.consume('k');
    await client.script('FLUSH');
    print(shown((await limiter.consume('k')).consumedPoints));
  },
  async 'rate-limit-redis (express-rate-limit)'(client, print) {
    const store = new RedisStore({ sendCommand: (...args) => client.call(...args) });
    await store.init({ windowMs: 10_000 });
    for (let i = 0; i < 3; i++) {
      print(shown((await store.increment('k')).totalHits));
    }
    await store.decrement('k');
    print(shown((await store.get('k'))?.totalHits));
  },
  async '@fastify/rate-limit'(client, print) {
    const path = require.resolve('@fastify/rate-limit').replace('index.js', 'store/RedisStore.js');
    const Store = require(path);
    const store = new Store(false, false, client, 'fastify-');
    for (let i = 0; i < 3; i++) {
      const result = await new Promise((resolve, reject) => {
        store.incr('k', (error, value) => (error ? reject(error) : resolve(value)), 10_000, 2);
      });
      print(shown(result.current));
    }
  },
  async calls(client, print) {
    await client.set('text', 'x');
    for (const [name, ...args] of CALLS) {
      const reply = await Promise.resolve().then(() => client[name](...args)).catch((e) => e);
      print(`${name} ${args.map((a) => JSON.stringify(a)).join(' ')} -> ${shown(reply)}`);
    }
  },
};

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

async function main() {
  const server = await startServer({ frozen: true });
  const real = new Redis({ port: server.port, host: server.host, scripts });
  const fake = new Mock();
  for (const [name, definition] of Object.entries(scripts)) {
    fake.defineCommand(name, definition);
  }
  let same = 0;
  for (const [name, flow] of Object.entries(flows)) {
    limiters[`flow ${name}`] = async (client, print) => {
      for await (const [instant, decision, details] of flow(client, `key:${name}`, defaults[name])) {
        // A key's time to live may be read on either side of a second.
        print(`${instant} ${decision} ${shown(details).replace(/"ttl":\d+/, '"ttl":"some"')}`);
      }
    };
  }
  for (const [name, work] of Object.entries(limiters)) {
    const [want, got] = [await lines((print) => work(real, print)), await lines((print) => work(fake, print))];
    const differ = [...Array(Math.max(want.length, got.length)).keys()].filter((i) => want[i] !== got[i]);
    same += want.length - differ.length;
    console.log(`== ${name}: ${differ.length} of ${want.length} lines differ`);
    for (const i of differ.slice(0, name === 'calls' ? undefined : 3)) {
      console.log(`   zlimit       ${want[i]}\n   ioredis-mock ${got[i]}`);
    }
  }
  console.log(`${same} lines are the same`);
  real.disconnect();
  fake.disconnect();
  await server.close();
}

main();
