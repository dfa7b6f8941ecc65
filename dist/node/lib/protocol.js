'use strict';
// What is particular to zlimit-server: the command line for tests, and the line that it prints
// when it accepts connections.

/** Returns the command line of a server that ends when its standard input does. */
function commandLine({ host, port, path, debug, cluster, args }) {
  const where = path
    ? ['--port', 0, '--unixsocket', path, '--unixsocketperm', 700]
    : ['--port', port, '--bind', host];
  const node = cluster
    ? ['--cluster-enabled', 'yes', '--cluster-config-file', '', '--cluster-announce-ip', host]
    : [];
  return [
    ...where, ...node, '--ready-line', 'yes', '--exit-with-stdin', 'yes', '--log-format', 'text',
    '--enable-debug-command', debug ? 'yes' : 'no', ...args,
  ].map(String);
}

/** Returns the port that a line announces, which is 0 on a Unix socket, or undefined. */
function parseReady(line) {
  const found = /^ready port=(\d+) /.exec(line);
  return found ? Number(found[1]) : undefined;
}

module.exports = { commandLine, parseReady };
