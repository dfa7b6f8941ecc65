// The package as an ES module.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import * as module from 'zlimit';

test('both module systems have the same names and values', () => {
  const required = createRequire(import.meta.url)('zlimit');
  assert.deepEqual(Object.keys(module).sort(), Object.keys(required).sort());
  assert.equal(module.startServer, required.startServer);
});

test('a server from an ES module', async () => {
  const server = await module.startServer();
  assert.equal(await server.command('PING'), 'PONG');
  await server.close();
});
