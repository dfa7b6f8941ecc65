'use strict';

const { setTimeout } = require('node:timers'); // before a test can replace the global one by a fake timer
const { control } = require('./clock');

const POLLING_MS = 1;

const OPTIONS = { on: 'ON', times: 'TIMES', afterMs: 'AFTER', text: 'TEXT' };

/** Makes the next commands of clients fail. */
class Faults {
  #send;

  constructor(send) {
    this.#send = send;
  }

  /** Injects a fault: {kind, on, times, afterMs, untilRemoved, text}. Resolves to the fault. */
  async inject({ kind, untilRemoved = false, ...options }) {
    const args = untilRemoved ? [kind, 'UNTIL', 'REMOVED'] : [kind];
    for (const [name, value] of Object.entries(options)) {
      if (!Object.hasOwn(OPTIONS, name)) {
        throw new TypeError(`faults.inject: there is no option ${name}; there are kind, untilRemoved, ` +
          Object.keys(OPTIONS).join(', '));
      }
      if (value !== undefined) {
        args.push(OPTIONS[name], value === Infinity ? -1 : value);
      }
    }
    return new Fault(this, await this.#fault('inject', 'INJECT', ...args));
  }

  /** Removes every fault. */
  async clear() {
    await this.#fault('clear', 'CLEAR');
  }

  /** Resolves to every fault since the last clear, those that are over included. */
  async list() {
    const reply = await this.#fault('list', 'LIST');
    return reply.map((fields) => {
      const fault = {};
      for (let i = 0; i < fields.length; i += 2) {
        fault[fields[i]] = fields[i + 1];
      }
      return fault;
    });
  }

  /** Removes one fault, by its id. */
  async remove(id) {
    await this.#fault('remove', 'REMOVE', id);
  }

  #fault(method, ...args) {
    return control(this.#send, `faults.${method}`, 'DEBUG', 'FAULT', ...args);
  }
}

/** A fault that was injected. */
class Fault {
  #faults;

  constructor(faults, id) {
    this.#faults = faults;
    this.id = id;
  }

  /** Resolves to how many commands the fault has affected. */
  async hits() {
    const fault = (await this.#faults.list()).find(({ id }) => id === this.id);
    return fault ? fault.hits : 0;
  }

  /** Resolves when the fault has affected a command, which may still be delayed. */
  async met() {
    while (await this.hits() === 0) {
      await new Promise((resolve) => { setTimeout(resolve, POLLING_MS); });
    }
  }

  async remove() {
    await this.#faults.remove(this.id);
  }
}

module.exports = { Faults };
