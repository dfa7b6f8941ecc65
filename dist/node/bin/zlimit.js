#!/usr/bin/env node
'use strict';
// Runs zlimit-server with the arguments that it is given, until it ends.

const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { binaryPath } = require('..');

let binary;
try {
  binary = binaryPath();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
// If this process is killed, the server ends too, because its standard input does. A caller that
// uses standard input itself keeps it.
const args = process.argv.slice(2);
const own = args.some((arg) => ['-', '--exit-with-stdin', '--version', '-v', '--help', '--help-all', '-h'].includes(arg));
// Before the server can say that it is ready, so that no signal ends this process alone.
let server;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => server.kill(signal));
}
server = spawn(binary, own ? args : [...args, '--exit-with-stdin', 'yes'], {
  stdio: [own ? 'inherit' : 'pipe', 'inherit', 'inherit'],
});
server.on('error', (error) => {
  console.error(`zlimit: ${binary} cannot be started: ${error.message}`);
  process.exit(1);
});
server.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
