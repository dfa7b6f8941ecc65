'use strict';

// What a Date can hold.
const MAX_DATE_MS = 8.64e15;

/**
 * The server's clock: that of TIME, TTLs, scripts and RL.*. It is not the clock of this process;
 * Date and timers are moved by the test framework's fake timers.
 */
class Clock {
  #send;

  constructor(send) {
    this.#send = send;
  }

  /** Stops the clock. */
  async freeze() {
    await this.#clock('freeze', 'FREEZE');
  }

  /** Moves the clock forward by whole milliseconds. What is due has expired when this resolves. */
  async advance(ms) {
    if (!Number.isSafeInteger(ms) || ms < 0) {
      throw new RangeError(`clock.advance: milliseconds must be a whole number of at least 0, not ${ms}` +
        (ms < 0 ? '; clock.set moves the clock back, on a server without keys' : ''));
    }
    await this.#clock('advance', 'ADVANCE', ms);
  }

  /** Moves the clock to a Date or to unix milliseconds: back only if the server has no keys. */
  async set(instant) {
    const ms = instant instanceof Date ? instant.getTime() : instant;
    if (!Number.isSafeInteger(ms) || Math.abs(ms) > MAX_DATE_MS) {
      throw new RangeError(`clock.set: the instant must be a valid Date or unix milliseconds, not ${instant}`);
    }
    await this.#clock('set', 'SET', ms);
  }

  /** Lets the clock follow the system's again. */
  async resume() {
    await this.#clock('resume', 'RESUME');
  }

  /** Resolves to the server's time in unix milliseconds. */
  async now() {
    const [seconds, microseconds] = await this.#send('TIME');
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  }

  async #clock(method, ...args) {
    await control(this.#send, `clock.${method}`, 'DEBUG', 'CLOCK', ...args);
  }
}

/** Sends a DEBUG command for a method, which an error names. */
async function control(send, method, ...args) {
  try {
    return await send(...args);
  } catch (cause) {
    const off = /^ERR DEBUG command not allowed/.test(cause.message);
    throw new Error(off
      ? `${method}: this server was started without debug commands (--enable-debug-command yes)`
      : `${method}: ${cause.message}`, { cause });
  }
}

module.exports = { Clock, control };
