'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

// A directory for a test, with a space and letters beyond ASCII in its path.
function directory(t) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'zlimit zürich 北京 '));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

// Runs a script in a process of its own, which resolves zlimit as this one does.
function run(script, { env = {}, ...options } = {}) {
  return spawn(process.execPath, ['-e', script], {
    cwd: __dirname, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'], ...options,
  });
}

// Resolves to what a process has printed when it has ended, and to how it ended.
async function result(child) {
  let stdout = '', stderr = '';
  child.stdout?.on('data', (chunk) => { stdout += chunk; });
  child.stderr?.on('data', (chunk) => { stderr += chunk; });
  const [code, signal] = await once(child, 'close');
  return { code, signal, stdout, stderr };
}

function running(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function eventually(condition) {
  for (const deadline = Date.now() + 10_000; !condition();) {
    if (Date.now() > deadline) {
      throw new Error(`not within 10 s: ${condition}`);
    }
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  }
}

module.exports = { directory, eventually, result, run, running };
