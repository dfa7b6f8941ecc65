// express-rate-limit over a window's edge, under Jest.
const express = require('express');
const { rateLimit } = require('express-rate-limit');
const Redis = require('ioredis');
const { RedisStore } = require('rate-limit-redis');
const { startServer } = require('zlimit');

let server, client, http, url;
beforeAll(async () => {
  server = await startServer();
  client = new Redis(server.url);
  const app = express();
  app.use(rateLimit({
    windowMs: 60_000,
    limit: 3,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    store: new RedisStore({ sendCommand: (...args) => client.call(...args) }),
  }));
  app.get('/', (request, response) => response.send('hello'));
  await new Promise((resolve) => {
    http = app.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${http.address().port}/`;
});
beforeEach(async () => {
  await server.reset();
  await server.clock.freeze();
});
afterAll(async () => {
  http.closeAllConnections();
  await new Promise((resolve) => { http.close(resolve); });
  client.disconnect();
  await server.close();
});

const status = async () => (await fetch(url)).status;

test('three requests a minute', async () => {
  expect([await status(), await status(), await status(), await status()]).toEqual([200, 200, 200, 429]);
  await server.clock.advance(59_999);
  expect(await status()).toBe(429);
  await server.clock.advance(1);
  expect(await status()).toBe(200);
});

test('while the store fails, requests get an error', async () => {
  const silent = jest.spyOn(console, 'error').mockImplementation(() => {});
  await server.faults.inject({ kind: 'oom', on: 'EVALSHA' });
  expect(await status()).toBe(500);
  expect(await status()).toBe(200);
  silent.mockRestore();
});
