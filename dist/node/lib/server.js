'use strict';

const { Clock, control } = require('./clock');
const { Connections } = require('./connection');
const { Faults } = require('./faults');
const { ServerProcess, describe } = require('./process');
const { binaryPath } = require('./binary');
const { attach } = require('./attach');
const { commandLine, parseReady } = require('./protocol');
const { algo, decision, each, only, termDecision, words } = require('./terms');

const START_TIMEOUT_MS = 10_000;

/** A running zlimit-server. startServer returns it. */
class Server {
  #process;
  #control;
  #closed = null;

  constructor(process, { host, port, path }) {
    this.#process = process;
    this.host = path ? undefined : host;
    this.port = path ? undefined : port;
    this.path = path;
    this.url = path ? `unix://${encodeURI(path)}` : `redis://${authority(host)}:${port}`;
    this.#control = new Connections(path ? { path } : { host, port });
    const send = (...args) => this.command(...args);
    this.clock = new Clock(send);
    this.faults = new Faults(send);
    process.exited.then((how) => this.#control.end(new Error(`zlimit: ${describe(how)}`)));
  }

  get pid() {
    return this.#process.pid;
  }

  /** The latest lines of the server's log. */
  get log() {
    return this.#process.log;
  }

  /** Sends any command, on a connection of its own, and resolves to its reply, as RESP2 has it. */
  command(...args) {
    return this.#control.send(...args);
  }

  /** Runs RL.ALLOW and resolves to its reply, by name. */
  async allow(key, limit, window, options = {}) {
    only('allow', options, ['cost', 'algorithm']);
    const { cost = 1, algorithm } = options;
    return decision(await this.command('RL.ALLOW', key, limit, window, 'COST', cost, ...algo(algorithm)));
  }

  /** Runs RL.MALLOW, or with hold RL.MRESERVE, and resolves to the decision of the binding term. */
  async allowAll(terms, options = {}) {
    only('allowAll', options, ['hold', 'id']);
    const { hold, id } = options;
    const name = hold === undefined ? 'RL.MALLOW' : 'RL.MRESERVE';
    return termDecision(await this.command(
      name, terms.length, ...terms.map(({ key }) => key), ...terms.flatMap(words),
      ...(hold === undefined ? [] : ['HOLD', hold]), ...(id === undefined ? [] : ['ID', id]),
    ));
  }

  /** Runs RL.MSETTLE and resolves to what it did to each key. */
  async settle(keys, id, actuals) {
    const reply = await this.command('RL.MSETTLE', keys.length, ...keys, id, ...actuals);
    return each(reply, ([counted, excess]) => ({ counted, excess }));
  }

  /** Runs RL.MCANCEL and resolves to the units given back of each key. */
  async cancel(keys, id) {
    return each(await this.command('RL.MCANCEL', keys.length, ...keys, id), (units) => units);
  }

  /** Between tests: removes keys, scripts and faults, and lets the clock show the system's time. */
  async reset() {
    await control((...args) => this.command(...args), 'reset', 'DEBUG', 'RESET');
  }

  /** Ends the server and resolves when the process has ended. May be called more than once. */
  close() {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  async #end() {
    this.#control.end(new Error('zlimit: the server is closed'));
    await this.#process.end();
  }
}

/** Starts a server and resolves when it accepts connections. */
async function startServer(options = {}) {
  const {
    host = '127.0.0.1', port = 0, path, args = [], debug = true, frozen = false, cluster = false,
    binary = binaryPath(), env = process.env, test, log = env.ZLIMIT_LOG === 'stderr', timeout = START_TIMEOUT_MS,
  } = options;
  if (cluster && path) {
    throw new TypeError('startServer: clients of a cluster connect to a port: cluster goes without path');
  }
  const echo = log === true ? (line) => process.stderr.write(`${line}\n`) : log || undefined;
  const child = new ServerProcess(binary, commandLine({ host, port, path, debug, cluster, args }), { env, echo });
  const server = new Server(child, { host, path, port: await child.ready(parseReady, timeout) });
  try {
    if (frozen !== false) {
      await server.clock.freeze();
    }
    if (typeof frozen !== 'boolean') {
      await server.clock.set(frozen);
    }
    if (test) {
      attach(server, test);
    }
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

// IPv6 addresses stand in brackets in a URL.
const authority = (host) => (host.includes(':') ? `[${host}]` : host);

module.exports = { startServer };
