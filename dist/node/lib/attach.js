'use strict';

const { randomUUID } = require('node:crypto');
const { setImmediate } = require('node:timers'); // before a test can replace the global one by a fake timer

const TRIES = 1000; // turns of the event loop, if the log goes elsewhere

/**
 * Makes a test close the server when it ends, and show the server's log if it failed. test is
 * what node:test or Vitest pass to a test function; Jest passes nothing.
 */
function attach(server, test) {
  if (typeof test.onTestFinished === 'function') { // Vitest; it runs these in reverse order
    test.onTestFinished(() => server.close());
    test.onTestFailed(async () => console.error(await heading(server)));
    return;
  }
  if (typeof test.after === 'function') { // node:test
    test.after(async () => {
      if (test.passed === false) {
        (await heading(server)).split('\n').forEach((line) => test.diagnostic(line));
      }
      await server.close();
    });
    return;
  }
  throw new TypeError('startServer: test must be the context that node:test or Vitest pass to a test');
}

// What the server has logged may arrive after its replies.
async function heading(server) {
  const mark = randomUUID();
  await server.command('DEBUG', 'LOG', mark).catch(() => {}); // it may have ended, or have no debug commands
  for (let tries = 0; tries < TRIES && !server.log.includes(mark); tries++) {
    await new Promise(setImmediate);
  }
  const lines = server.log.split('\n').filter((line) => !line.includes(mark));
  return `log of zlimit at ${server.url}:\n${lines.join('\n')}`;
}

module.exports = { attach };
