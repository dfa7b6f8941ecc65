// Vitest's fake timers move Date and timers of the test; server.clock moves the server.
import { afterEach, expect, test, vi } from 'vitest';
import { startServer } from 'zlimit';

const now = Date.UTC(2030, 0, 1);

afterEach(() => {
  vi.useRealTimers();
});

test('neither clock moves the other', async () => {
  vi.useFakeTimers({ now });
  await using server = await startServer({ frozen: new Date(now) });
  const fired = vi.fn();
  setTimeout(fired, 1_000);

  await server.clock.advance(1_000);
  expect([await server.clock.now(), Date.now()]).toEqual([now + 1_000, now]);
  expect(fired).not.toHaveBeenCalled();

  vi.advanceTimersByTime(1_000);
  expect([await server.clock.now(), Date.now()]).toEqual([now + 1_000, now + 1_000]);
  expect(fired).toHaveBeenCalled();
});
