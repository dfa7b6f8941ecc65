'use strict';
// How servers end, and what is left then: nothing.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { startServer } = require('zlimit');
const { directory, eventually, result, run, running } = require('./helpers');

const linux = { skip: process.platform !== 'linux' && 'reads /proc' };
const STARTS = Number(process.env.ZLIMIT_STARTS ?? 100);

function children() {
  const threads = fs.readdirSync('/proc/self/task');
  return threads.flatMap((t) => fs.readFileSync(`/proc/self/task/${t}/children`, 'utf8').split(' ').filter(Boolean));
}

test(`${STARTS} servers, one after the other`, linux, async (t) => {
  const temporary = directory(t);
  const env = { ...process.env, TMPDIR: temporary, HOME: temporary };
  const start = async () => {
    const server = await startServer({ env });
    await server.command('SET', 'k', 'v');
    await server.close();
  };
  await start();
  const before = fs.readdirSync('/proc/self/fd').length;
  for (let i = 0; i < STARTS; i++) {
    await start();
  }
  assert.equal(fs.readdirSync('/proc/self/fd').length, before);
  assert.deepEqual(children(), []);
  assert.deepEqual(fs.readdirSync(temporary), []);
});

const START = 'require("zlimit").startServer({ log: false }).then((s) => console.log(s.pid));';

test('a process that is killed takes its server along', linux, async (t) => {
  const temporary = directory(t);
  const child = run(`${START} setInterval(() => {}, 1e6)`, { env: { TMPDIR: temporary, HOME: temporary } });
  const [pid] = await once(child.stdout, 'data');
  assert.ok(running(Number(pid)));
  child.kill('SIGKILL');
  await eventually(() => !running(Number(pid)));
  assert.deepEqual(fs.readdirSync(temporary), []);
});

test('a server that is not closed neither keeps the process running nor outlives it', async () => {
  const { code, stdout } = await result(run(START));
  assert.equal(code, 0);
  await eventually(() => !running(Number(stdout)));
});

test('a server that is killed', async () => {
  const server = await startServer();
  const blocked = server.command('BLPOP', 'list', 0);
  process.kill(server.pid, 'SIGKILL');
  await assert.rejects(blocked);
  await assert.rejects(async () => {
    for (;;) {
      await server.command('PING');
    }
  });
  await server.close();
  await server.close();
});

test('close ends commands under way', async () => {
  const server = await startServer();
  const blocked = assert.rejects(server.command('BLPOP', 'list', 0), /the server is closed/);
  await server.close();
  await blocked;
  await assert.rejects(server.command('PING'), /the server is closed/);
  assert.ok(!running(server.pid));
});

test('Symbol.asyncDispose closes', async () => {
  const server = await startServer();
  await server[Symbol.asyncDispose]();
  assert.ok(!running(server.pid));
});

test('a failed test shows the log', async (t) => {
  const file = path.join(directory(t), 'failing.test.js');
  fs.writeFileSync(file, `const { test } = require('node:test');
    const { startServer } = require(${JSON.stringify(require.resolve('zlimit'))});
    test('fails', async (t) => {
      const server = await startServer({ test: t });
      await server.command('DEBUG', 'LOG', 'this was logged');
      throw new Error('it broke');
    });`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env; // of this run, not of that one
  const { code, stdout } = await result(spawn(process.execPath, ['--test', file], { env }));
  assert.equal(code, 1);
  assert.match(stdout, /log of zlimit at redis:/);
  assert.match(stdout, /listens on 127\.0\.0\.1/);
  assert.match(stdout, /this was logged/);
});

const command = path.join(path.dirname(require.resolve('zlimit/package.json')), 'bin', 'zlimit.js');

test('npx zlimit runs until it is told to end', async () => {
  const child = spawn(process.execPath, [command, '--port', '0', '--bind', '127.0.0.1', '--ready-line', 'yes']);
  const ended = result(child);
  let line = '';
  for await (const chunk of child.stdout) {
    line += chunk;
    if (line.includes('ready port=')) {
      break;
    }
  }
  child.kill('SIGTERM');
  assert.equal((await ended).code, 0);
});

test('npx zlimit that is killed takes its server along', async () => {
  const child = spawn(process.execPath, [command, '--port', '0', '--bind', '127.0.0.1', '--ready-line', 'yes']);
  let text = '';
  child.stdout.on('data', (chunk) => { text += chunk; });
  await eventually(() => / pid=\d+ /.test(text));
  child.kill('SIGKILL');
  await eventually(() => !running(Number(/ pid=(\d+) /.exec(text)[1])));
});

test('npx zlimit --version', async () => {
  const { code, stdout } = await result(spawn(process.execPath, [command, '--version']));
  assert.equal(code, 0);
  assert.match(stdout, /^zlimit-server /);
});
