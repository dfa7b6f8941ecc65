// Limiters of ioredis with sentinels; the arguments and lines are those of client.py.
'use strict';

const Redis = require('ioredis');

const slidingWindow = `
local key, now = KEYS[1], tonumber(ARGV[1])
redis.call('ZREMRANGEBYSCORE', key, 0, now - tonumber(ARGV[2]))
if redis.call('ZCARD', key) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', key, now, ARGV[4])
return 1`;

const windowMs = 1000, windowLimit = 20;
const ledgerMs = 600_000, ledgerLimit = 1_000_000;
const afterErrorMs = 50;
const answeringMs = 400;

const begin = process.hrtime.bigint();
const nowUs = () => Number((process.hrtime.bigint() - begin) / 1000n);
const wait = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// call asks about one unit, and before and after it who answers.
async function call(master, algorithm, n) {
  const line = { limiter: algorithm, unit: String(n), sentUs: nowUs(), sentMs: Date.now() };
  const pipe = master.pipeline().config('GET', 'port');
  for (const [kind, limit, ms] of [['window', windowLimit, windowMs], ['ledger', ledgerLimit, ledgerMs]]) {
    const key = `${kind}:node:${algorithm}`;
    if (algorithm === 'script') {
      pipe.slidingWindow(key, line.sentMs, ms, limit, line.unit);
    } else {
      pipe.call('RL.ALLOW', key, limit, ms);
    }
  }
  try {
    const replies = await pipe.config('GET', 'port').exec();
    const failed = replies.find(([err]) => err);
    if (failed) {
      throw failed[0];
    }
    const [before, window, ledger, after] = replies.map(([, reply]) => reply);
    return {
      ...line, receivedUs: nowUs(), port: Number(before[1]), portAfter: Number(after[1]), window, ledger,
    };
  } catch (err) {
    return { ...line, error: `${err.name}: ${err.message}` };
  }
}

async function main() {
  const [addresses, name, pauseMs, algorithms] = process.argv.slice(2);
  const sentinels = addresses.split(',').map((a) => {
    const [host, port] = a.split(':');
    return { host, port: Number(port) };
  });
  let over = false;
  process.stdin.on('end', () => { over = true; });
  process.stdin.resume();
  await Promise.all(algorithms.split(',').map(async (algorithm) => {
    const master = new Redis({
      sentinels, name, connectTimeout: answeringMs, commandTimeout: answeringMs,
      socketTimeout: answeringMs, // a stopped master closes nothing, and commandTimeout keeps the connection
      reconnectOnError: (err) => err.message.startsWith('READONLY'), // as ioredis' documentation has it
      scripts: { slidingWindow: { lua: slidingWindow, numberOfKeys: 1 } },
    });
    master.on('error', () => {}); // calls report it
    for (let n = 0; !over; n += 1) {
      const line = await call(master, algorithm, n);
      console.log(JSON.stringify(line));
      await wait(line.error ? afterErrorMs : Number(pauseMs));
    }
    master.disconnect();
  }));
}

main();
