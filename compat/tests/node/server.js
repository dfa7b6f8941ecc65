// A zlimit-server for a test, whose clock the test moves.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const Redis = require('ioredis');

async function start() {
  const folder = mkdtempSync(join(tmpdir(), 'zlimit-'));
  const portFile = join(folder, 'port');
  const server = spawn(
    process.env.ZLIMIT_SERVER,
    ['--port', '0', '--port-file', portFile, '--enable-debug-command', 'yes'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  // The first line comes when it listens: there is nothing to poll for.
  await once(server.stdout, 'data');
  const client = new Redis(Number(readFileSync(portFile, 'utf8')), '127.0.0.1');
  await client.call('DEBUG', 'CLOCK', 'FREEZE');
  return {
    client,
    // When this resolves, what is due has expired.
    advance: (milliseconds) => client.call('DEBUG', 'CLOCK', 'ADVANCE', milliseconds),
    async stop() {
      client.disconnect();
      server.kill();
      await once(server, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}

module.exports = { start };
