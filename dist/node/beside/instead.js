'use strict';
// Preloaded into the programs of compat/libraries/node: there, node-redis is ioredis, which rate-limit-redis takes as
// well and which has a mock; and with BESIDE=ioredis-mock, ioredis is ioredis-mock.

const Module = require('node:module');
const path = require('node:path');
const Mock = require('ioredis-mock');

const PROGRAMS = path.join(__dirname, '..', '..', '..', 'compat', 'libraries', 'node');

// Without SCRIPT FLUSH and CLIENT KILL, which the mock lacks: the scenario goes on.
function Fake(...options) {
  const client = new Mock(...options);
  client.script = async () => 'OK';
  client.client = async () => 0;
  return client;
}

const load = Module._load;

Module._load = function (name, parent, ...rest) {
  if (path.dirname(parent?.filename ?? '') === PROGRAMS) {
    if (name === 'ioredis' && process.env.BESIDE === 'ioredis-mock') {
      return Fake;
    }
    if (name === 'redis') {
      const Redis = Module._load('ioredis', parent, ...rest);
      return { createClient: ({ socket }) => nodeRedis(new Redis(socket)) };
    }
  }
  return load.call(this, name, parent, ...rest);
};

function nodeRedis(client) {
  return {
    on: (...args) => client.on(...args),
    connect: async () => {},
    sendCommand: ([command, ...args]) => client.call(command, ...args),
    close: () => client.quit(),
  };
}
