// Decisions of RL.ALLOW by name, with their types.
import { expect, test } from 'vitest';
import { startServer, type Decision, type Settlement, type Term, type TermDecision } from 'zlimit';

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

test('one call at a time', async () => {
  await using server = await startServer({ frozen: true });
  const terms: Term[] = [{ key: 'rpm', limits: [[60, '1m']] }, { key: 'jobs', max: 1, lease: '2m' }];
  expect((await server.allowAll(terms, { hold: '2m', id: 'job-1' })).allowed).toBe(1);
  const { term, allowed, retryAfterMs }: TermDecision = await server.allowAll(terms, { id: 'job-2' });
  expect([term, allowed, retryAfterMs]).toEqual([2, 0, 120_000]);
  const settled: Settlement[] = await server.settle(['rpm', 'jobs'], 'job-1', [1, 0]);
  expect(settled).toEqual([{ counted: 1, excess: 0 }, { counted: 0, excess: 0 }]);

  // @ts-expect-error slots have a lease
  await expect(server.allowAll([{ key: 'jobs', max: 1 }], { id: 'job-2' })).rejects.toThrow('ERR');
});
