// rate-limiter-flexible over a window's edge with node-redis, under Vitest, in TypeScript.
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import { createClient } from 'redis';
import { expect, test } from 'vitest';
import { startServer, type Server } from 'zlimit';

async function limiterAt(server: Server) {
  const client = createClient({ url: server.url });
  await client.connect();
  const limiter = new RateLimiterRedis({ storeClient: client, useRedisPackage: true, points: 3, duration: 10 });
  return { limiter, [Symbol.dispose]: () => client.destroy() };
}

const denied = (limiter: RateLimiterRedis, key: string): Promise<RateLimiterRes | null> =>
  limiter.consume(key).then(() => null, (result: RateLimiterRes) => result);

test('three points in ten seconds', async () => {
  await using server = await startServer({ frozen: true });
  using connected = await limiterAt(server);
  const { limiter } = connected;
  for (let i = 0; i < 3; i++) {
    expect(await denied(limiter, 'user:42')).toBeNull();
  }
  expect((await denied(limiter, 'user:42'))?.msBeforeNext).toBe(10_000);
  await server.clock.advance(10_000);
  expect((await denied(limiter, 'user:42'))?.msBeforeNext).toBe(0); // the key's last millisecond
  await server.clock.advance(1);
  expect(await denied(limiter, 'user:42')).toBeNull();
});

test('a script that the server has forgotten is sent again', async (t) => {
  const server = await startServer({ test: t }); // ends with the test, shows its log if it fails
  using connected = await limiterAt(server);
  expect(await denied(connected.limiter, 'user:42')).toBeNull();
  await server.command('SCRIPT', 'FLUSH');
  expect(await denied(connected.limiter, 'user:42')).toBeNull();
});
