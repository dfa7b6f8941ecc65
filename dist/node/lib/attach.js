'use strict';

/**
 * Makes a test close the server when it ends, and show the server's log if it failed. test is
 * what node:test or Vitest pass to a test function; Jest passes nothing.
 */
function attach(server, test) {
  if (typeof test.onTestFinished === 'function') { // Vitest; it runs these in reverse order
    test.onTestFinished(() => server.close());
    test.onTestFailed(() => console.error(heading(server)));
    return;
  }
  if (typeof test.after === 'function') { // node:test
    test.after(async () => {
      if (test.passed === false) {
        heading(server).split('\n').forEach((line) => test.diagnostic(line));
      }
      await server.close();
    });
    return;
  }
  throw new TypeError('startServer: test must be the context that node:test or Vitest pass to a test');
}

const heading = (server) => `log of zlimit at ${server.url}:\n${server.log}`;

module.exports = { attach };
