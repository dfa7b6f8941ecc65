// Runs limiters of bottleneck with a datastore on the server in REDIS_PORT: a reservoir that is refilled, a
// minimum time between calls, a bound on calls at once, a queue that overflows, and two limiters of one group.
'use strict';

const Bottleneck = require('bottleneck');

const clientOptions = { port: Number(process.env.REDIS_PORT), host: '127.0.0.1' };

async function main() {
  for (const datastore of ['ioredis', 'redis']) {
    const shared = { datastore, clearDatastore: true, clientOptions, timeout: 60000 };
    const one = new Bottleneck({
      ...shared, id: `calls-${datastore}`, reservoir: 5, reservoirRefreshAmount: 5, reservoirRefreshInterval: 300,
      maxConcurrent: 2, minTime: 10,
    });
    const other = new Bottleneck({ ...shared, clearDatastore: false, id: `calls-${datastore}` });
    await one.ready();
    await other.ready();
    const calls = [];
    for (let n = 0; n < 4; n++) {
      calls.push(one.schedule(async () => n), other.schedule({ priority: 2, weight: 1 }, async () => n));
    }
    await Promise.all(calls);
    await one.incrementReservoir(2);
    console.log(await one.currentReservoir(), await one.running(), await other.done(), await one.check());
    await one.updateSettings({ highWater: 1, strategy: Bottleneck.strategy.BLOCK, penalty: 50, reservoir: 1 });
    const overflown = await Promise.allSettled([1, 2, 3, 4].map((n) => one.schedule(async () => n)));
    console.log(overflown.map((r) => r.status).join(' '));

    const group = new Bottleneck.Group({ ...shared, id: `group-${datastore}`, maxConcurrent: 1 });
    await Promise.all(['a', 'b', 'a'].map((user) => group.key(user).schedule(async () => user)));
    console.log((await group.clusterKeys()).length);
    await group.deleteKey('a');
    await group.disconnect();
    await one.disconnect();
    await other.disconnect();
  }
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
