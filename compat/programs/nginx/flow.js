// Runs nginx with limiters in Lua on the server in REDIS_PORT, and asks for pages until they are denied. With
// the argument allow it asks for those that RL.ALLOW limits, and prints when to come again.
'use strict';

const { spawn } = require('child_process');
const fs = require('fs');
const http = require('http');
const net = require('net');
const os = require('os');
const path = require('path');

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function main() {
  const prefix = fs.mkdtempSync(path.join(os.tmpdir(), 'nginx-'));
  const port = await freePort();
  const conf = fs.readFileSync(path.join(__dirname, 'nginx.conf'), 'utf8');
  fs.writeFileSync(
    path.join(prefix, 'nginx.conf'),
    conf.replaceAll('PREFIX', prefix).replaceAll('HTTP_PORT', String(port)),
  );
  const nginx = spawn('nginx', ['-p', prefix, '-c', path.join(prefix, 'nginx.conf')], { stdio: 'inherit' });
  const ended = new Promise((resolve) => nginx.on('exit', resolve));

  const ask = (page) =>
    new Promise((resolve, reject) => {
      http
        .get({ host: '127.0.0.1', port, path: `/${page}`, agent: false }, (res) => {
          res.resume();
          res.on('end', () => resolve(res));
        })
        .on('error', reject);
    });
  const codes = async (pages) => {
    const all = [];
    for (const page of pages) all.push((await ask(page)).statusCode);
    console.log(all.join(' '));
  };
  try {
    for (let tries = 0; ; tries++) {
      try {
        await ask('');
        break;
      } catch (err) {
        if (tries === 200) throw err;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    if (process.argv[2] === 'allow') {
      await codes(Array(5).fill('allow?user=ann'));
      console.log((await ask('allow?user=ann')).headers['retry-after'] > 0 ? 'Retry-After' : 'no Retry-After');
      return;
    }
    await codes(Array(5).fill(['incr?user=ann', 'incr?user=bob']).flat());
    await codes(Array(4).fill('script?user=ann'));
    await new Promise((resolve) => setTimeout(resolve, 600));
    await codes(['script?user=ann']);
  } finally {
    nginx.kill();
    await ended;
    fs.rmSync(prefix, { recursive: true });
  }
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
