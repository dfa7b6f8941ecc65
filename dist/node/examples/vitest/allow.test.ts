// Decisions of RL.ALLOW by name, with their types.
import { expect, test } from 'vitest';
import { startServer, type Decision } from 'zlimit';

test('a burst of five, then one a second', async () => {
  await using server = await startServer({ frozen: true });
  const allow = (): Promise<Decision> => server.allow('user:42', 60, '1m', { algorithm: 'GCRA 5' });
  for (let i = 0; i < 5; i++) {
    expect((await allow()).allowed).toBe(1);
  }
  const { allowed, retryAfterMs } = await allow();
  expect([allowed, retryAfterMs]).toEqual([0, 1_000]);
  await server.clock.advance(retryAfterMs);
  expect((await allow()).allowed).toBe(1);

  // @ts-expect-error GCRA has a burst
  await expect(server.allow('user:42', 60, '1m', { algorithm: 'GCRA' })).rejects.toThrow('ERR');
});
