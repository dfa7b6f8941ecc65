'use strict';
// How servers start, and why they cannot.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { test } = require('node:test');
const { binaryPath, startServer, version } = require('zlimit');
const { directory, result, run } = require('./helpers');

test('a platform without a server', () => {
  assert.throws(() => binaryPath('win32', 'ia32'), {
    message: 'zlimit: there is no server for win32-ia32, only for darwin-arm64, darwin-x64, linux-arm64, linux-x64. ' +
      'Set ZLIMIT_SERVER to the path of a zlimit-server that you have built.',
  });
});

test('a platform whose package is not installed', () => {
  const other = process.platform === 'darwin' ? 'linux' : 'darwin';
  assert.throws(() => binaryPath(other, 'arm64'), (error) =>
    error.message.includes(`the package @zlimit/${other}-arm64, which has the server, is not installed`) &&
    error.message.includes('--omit=optional'));
});

test('only the package of this platform is installed', () => {
  const scope = path.dirname(path.dirname(require.resolve(`@zlimit/${process.platform}-${process.arch}/package.json`)));
  assert.deepEqual(fs.readdirSync(scope), [`${process.platform}-${process.arch}`]);
});

test('a binary that has lost its permission gets it back', async (t) => {
  const binary = path.join(directory(t), 'zlimit-server');
  fs.copyFileSync(binaryPath(), binary);
  fs.chmodSync(binary, 0o644);
  const child = run('const z = require("zlimit"); z.startServer().then(async (s) => { ' +
    'console.log(await s.command("PING")); await s.close(); })', { env: { ZLIMIT_SERVER: binary } });
  assert.deepEqual(await result(child), { code: 0, signal: null, stdout: 'PONG\n', stderr: '' });
});

test('a binary that may not be made executable', { skip: process.getuid() !== 0 && 'needs root' }, async (t) => {
  const dir = directory(t);
  const binary = path.join(dir, 'zlimit-server');
  fs.copyFileSync(binaryPath(), binary);
  fs.chmodSync(binary, 0o644);
  fs.chmodSync(dir, 0o755);
  // The package stays readable by root only, so its code is passed on.
  const script = `process.setuid(65534); try { z.binaryPath() } catch (e) { console.log(e.message) }`;
  const child = run(`const z = require("zlimit"); ${script}`, { env: { ZLIMIT_SERVER: binary } });
  const { stdout } = await result(child);
  assert.match(stdout, /zlimit-server is not executable, and cannot be made so \(EPERM\)/);
});

test('a binary that does not exist', async () => {
  const { stdout } = await result(run('try { require("zlimit").binaryPath() } catch (e) { console.log(e.message) }',
    { env: { ZLIMIT_SERVER: '/no/such/zlimit-server' } }));
  assert.equal(stdout, 'zlimit: there is no file /no/such/zlimit-server\n');
});

test('a file that is no server', async (t) => {
  const binary = path.join(directory(t), 'zlimit-server');
  fs.writeFileSync(binary, '#!/bin/sh\necho it broke >&2\nexit 3\n', { mode: 0o755 });
  await assert.rejects(startServer({ binary }), {
    message: 'zlimit: the server ended with code 3; its log:\nit broke',
  });
  await assert.rejects(startServer({ binary: path.dirname(binary) }), /^Error: zlimit: the server cannot be started: /);
});

test('a server that does not get ready', async (t) => {
  const binary = path.join(directory(t), 'zlimit-server');
  fs.writeFileSync(binary, '#!/bin/sh\necho wait\nexec cat\n', { mode: 0o755 });
  await assert.rejects(startServer({ binary, timeout: 300 }), {
    message: 'zlimit: the server was not ready after 300 ms; its log:\nwait',
  });
});

test('a home and a directory for temporary files that cannot be written', async () => {
  const child = run('require("zlimit").startServer().then(async (s) => { console.log(await s.command("PING")); ' +
    'await s.close(); })', { env: { HOME: '/proc', TMPDIR: '/proc' } });
  assert.deepEqual(await result(child), { code: 0, signal: null, stdout: 'PONG\n', stderr: '' });
});

test('a port that is taken', async (t) => {
  const taken = net.createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await new Promise((resolve) => { taken.once('listening', resolve); });
  await assert.rejects(startServer({ port: taken.address().port }), (error) =>
    error.message.startsWith('zlimit: the server ended with code 1') && /port \d+ is in use/.test(error.message));
});

test('a directive that is unknown', async () => {
  await assert.rejects(startServer({ args: ['--no-such-directive', '1'] }), /no-such-directive/);
});

test('a Unix socket whose path has a space and letters beyond ASCII', async (t) => {
  const file = path.join(directory(t), 's');
  const server = await startServer({ path: file });
  assert.equal(await server.command('PING'), 'PONG');
  assert.deepEqual([server.host, server.port, server.path], [undefined, undefined, file]);
  assert.equal(decodeURI(server.url), `unix://${file}`);
  await server.close();
  assert.ok(!fs.existsSync(file));
});

test('an IPv6 address', async () => {
  const server = await startServer({ host: '::1' });
  assert.equal(server.url, `redis://[::1]:${server.port}`);
  assert.equal(await server.command('PING'), 'PONG');
  await server.close();
});

test('the package has the version of its server', async () => {
  const { stdout } = await result(run('require("child_process").spawn(require("zlimit").binaryPath(), ["--version"], ' +
    '{ stdio: "inherit" })', { stdio: ['ignore', 'pipe', 'inherit'] }));
  assert.ok(stdout.startsWith(`zlimit-server ${version}, `), stdout);
});
