'use strict';
// A connection to a server, for the commands that control it. Tests use a Redis client.

const net = require('node:net');
const { ReplyError, ReplyReader } = require('./reply');

/**
 * A connection that is opened by the first command and sends commands in order. It keeps the
 * process running only while a reply is awaited.
 */
class Connection {
  #address;
  #socket = null;
  #waiting = [];
  #ended = null; // an Error once no command can be sent

  /** address is what net.connect takes: {host, port} or {path}. */
  constructor(address) {
    this.#address = address;
  }

  /** Sends a command and resolves to its reply; error replies reject as ReplyError. */
  send(...args) {
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(this.#ended);
        return;
      }
      const socket = this.#open();
      this.#waiting.push({ resolve, reject, stack: new Error() });
      socket.ref();
      socket.write(encode(args));
    });
  }

  /** Closes the connection; commands under way and later ones reject with reason. */
  end(reason) {
    this.#ended ??= reason;
    this.#socket?.destroy();
    this.#fail(reason);
  }

  #open() {
    if (this.#socket) {
      return this.#socket;
    }
    const socket = net.connect(this.#address);
    socket.setNoDelay(true);
    const reader = new ReplyReader();
    socket.on('data', (chunk) => {
      for (const reply of reader.write(chunk)) {
        this.#deliver(reply);
      }
      if (this.#waiting.length === 0) {
        socket.unref();
      }
    });
    socket.on('error', (error) => this.#lost(socket, error));
    socket.on('close', () => this.#lost(socket, new Error('zlimit: the server has closed the connection')));
    this.#socket = socket;
    return socket;
  }

  #deliver(reply) {
    const { resolve, reject, stack } = this.#waiting.shift();
    if (reply instanceof ReplyError) {
      // The stack of the call says more than that of the socket's event.
      reply.stack = `${reply.name}: ${reply.message}\n${stack.stack.split('\n').slice(2).join('\n')}`;
      reject(reply);
    } else {
      resolve(reply);
    }
  }

  // A later command opens a new connection.
  #lost(socket, error) {
    if (this.#socket === socket) {
      this.#socket = null;
      this.#fail(error);
    }
  }

  #fail(error) {
    for (const { reject } of this.#waiting.splice(0)) {
      reject(error);
    }
  }
}

function encode(args) {
  const parts = [`*${args.length}\r\n`];
  for (const arg of args) {
    const text = String(arg);
    parts.push(`$${Buffer.byteLength(text)}\r\n${text}\r\n`);
  }
  return parts.join('');
}

module.exports = { Connection, ReplyError };
