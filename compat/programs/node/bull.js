// Runs a limited queue of Bull 4 on the server in REDIS_PORT: jobs that wait for the limiter, a delayed one, one
// that fails and is tried again, a repeatable one, events to a second queue object, and what a dashboard asks.
'use strict';

const Queue = require('bull');

const redis = { port: Number(process.env.REDIS_PORT), host: '127.0.0.1' };

async function main() {
  const queue = new Queue('mail', { redis, limiter: { max: 3, duration: 200 } });
  const watcher = new Queue('mail', { redis });
  let completed = 0;
  const done = new Promise((resolve) => {
    watcher.on('global:completed', () => {
      if (++completed === 9) resolve();
    });
  });
  await watcher.isReady();
  let failures = 0;
  queue.process(2, async (job) => {
    if (job.data.fails && failures++ === 0) throw new Error('once');
    await job.progress(50);
    return job.data.n;
  });
  for (let n = 0; n < 6; n++) await queue.add({ n });
  await queue.add({ n: 6, fails: true }, { attempts: 2, backoff: 50 });
  await queue.add({ n: 7 }, { delay: 100, priority: 1 });
  await queue.addBulk([{ data: { n: 8 } }]);
  await queue.add('every', { n: 9 }, { repeat: { every: 60000 } });
  await done;
  await queue.pause();
  await queue.resume();
  console.log(JSON.stringify(await queue.getJobCounts()));
  await queue.getJobs(['completed', 'delayed'], 0, 5);
  for (const r of await queue.getRepeatableJobs()) await queue.removeRepeatableByKey(r.key);
  await queue.clean(0, 'completed');
  await queue.empty();
  await queue.close();
  await watcher.close();
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
