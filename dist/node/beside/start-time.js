'use strict';
// Prints the median time from the call that starts a server to its first reply.
//
//   npm install; node start-time.js [STARTS]

const Mock = require('ioredis-mock');
const Redis = require('ioredis');
const { startServer } = require('..');

const STARTS = Number(process.argv[2] ?? 50);

const ways = {
  'startServer() and its command': async () => {
    const server = await startServer();
    await server.command('PING');
    return () => server.close();
  },
  'startServer() and ioredis': async () => {
    const server = await startServer();
    const client = new Redis(server.url);
    await client.ping();
    return () => { client.disconnect(); return server.close(); };
  },
  'startServer({ path }) and its command': async () => {
    const server = await startServer({ path: `/tmp/zlimit-${process.pid}.sock` });
    await server.command('PING');
    return () => server.close();
  },
  'new Redis() of ioredis-mock': async () => {
    const client = new Mock();
    await client.ping();
    return () => client.disconnect();
  },
};

async function main() {
  for (const [name, start] of Object.entries(ways)) {
    const times = [];
    for (let i = 0; i < STARTS; i++) {
      const begin = performance.now();
      const end = await start();
      times.push(performance.now() - begin);
      await end();
    }
    times.sort((a, b) => a - b);
    console.log(`${times[Math.floor(STARTS / 2)].toFixed(1).padStart(8)} ms  ${name}`);
  }
  const server = await startServer();
  const times = [];
  for (let i = 0; i < STARTS; i++) {
    const begin = performance.now();
    await server.reset();
    times.push(performance.now() - begin);
  }
  await server.close();
  times.sort((a, b) => a - b);
  console.log(`${times[Math.floor(STARTS / 2)].toFixed(1).padStart(8)} ms  server.reset()`);
}

main();
