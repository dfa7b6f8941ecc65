// Jest's fake timers move Date and timers of the test; server.clock moves the server. Connections
// to the server go on working under fake timers.
const { startServer } = require('zlimit');

const NOW = Date.UTC(2030, 0, 1);

let server;
beforeEach(async () => {
  jest.useFakeTimers({ now: NOW });
  server = await startServer({ frozen: NOW });
});
afterEach(async () => {
  await server.close();
  jest.useRealTimers();
});

test('neither clock moves the other', async () => {
  const fired = jest.fn();
  setTimeout(fired, 1_000);

  await server.clock.advance(1_000);
  expect([await server.clock.now(), Date.now()]).toEqual([NOW + 1_000, NOW]);
  expect(fired).not.toHaveBeenCalled();

  jest.advanceTimersByTime(1_000);
  expect([await server.clock.now(), Date.now()]).toEqual([NOW + 1_000, NOW + 1_000]);
  expect(fired).toHaveBeenCalled();
});
