'use strict';
// Connections to a server, for the commands that control it. Tests use a Redis client.

const net = require('node:net');
const { ReplyError, ReplyReader } = require('./reply');

/**
 * Sends commands, each on a connection of its own: what a test does to connections, as by CLIENT
 * KILL or faults, has no effect on later commands, and no connection is left among its clients.
 */
class Connections {
  #address;
  #open = new Map(); // sockets, and what rejects their commands
  #ended = null; // an Error once no command can be sent

  /** address is what net.connect takes: {host, port} or {path}. */
  constructor(address) {
    this.#address = address;
  }

  /** Sends a command and resolves to its reply; error replies reject as ReplyError. */
  async send(...args) {
    if (this.#ended) {
      throw this.#ended;
    }
    const socket = net.connect(this.#address);
    const reader = new ReplyReader();
    try {
      return await new Promise((resolve, reject) => {
        this.#open.set(socket, reject);
        socket.on('data', (chunk) => {
          const [reply] = reader.write(chunk);
          if (reply instanceof ReplyError) {
            reject(reply);
          } else if (reply !== undefined) {
            resolve(reply);
          }
        });
        socket.on('error', reject);
        socket.on('close', () => reject(new Error('zlimit: the server has closed the connection')));
        socket.write(encode(args));
      });
    } catch (error) {
      Error.captureStackTrace(error); // the callers' instead of that of an event
      throw error;
    } finally {
      this.#open.delete(socket);
      if (this.#address.path) {
        socket.destroy();
      } else {
        socket.resetAndDestroy(); // the system does not keep its port
      }
    }
  }

  /** Closes every connection; commands under way and later ones reject with reason. */
  end(reason) {
    this.#ended ??= reason;
    for (const reject of this.#open.values()) {
      reject(reason);
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

module.exports = { Connections, ReplyError };
