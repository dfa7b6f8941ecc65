'use strict';
// The server's process: started, awaited, ended.

const { spawn } = require('node:child_process');
const { StringDecoder } = require('node:string_decoder');
// Taken when the module loads, before a test can replace the global ones by fake timers.
const { clearTimeout, setTimeout } = require('node:timers');

const LOG_LINES = 1000; // how many lines of the log are kept
const CLOSE_TIMEOUT_MS = 5_000;

/** A running server process. */
class ServerProcess {
  #child;
  #lines = [];
  #echo;
  #onLine = null;
  #exited;

  constructor(binary, args, { env, echo }) {
    this.#echo = echo;
    this.#child = spawn(binary, args, { stdio: ['pipe', 'pipe', 'pipe'], env });
    this.#child.stdin.on('error', () => {}); // the server may end first
    this.#read(this.#child.stdout);
    this.#read(this.#child.stderr);
    this.#exited = new Promise((resolve) => {
      this.#child.once('error', resolve); // it could not be started
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  get pid() {
    return this.#child.pid;
  }

  /** The latest lines of the server's log. */
  get log() {
    return this.#lines.join('\n');
  }

  /** Settles when the process has ended: an Error if it never started, otherwise {code, signal}. */
  get exited() {
    return this.#exited;
  }

  /**
   * Resolves to what match returns for the first line for which it returns something, and
   * rejects with the log if the process ends before, or after timeoutMs.
   */
  async ready(match, timeoutMs) {
    let timer;
    try {
      return await new Promise((resolve, reject) => {
        this.#onLine = (line) => {
          const found = match(line);
          if (found !== undefined) {
            this.#onLine = null;
            resolve(found);
          }
        };
        timer = setTimeout(
          () => reject(this.#failure(`the server was not ready after ${timeoutMs} ms`)), timeoutMs);
        this.#exited.then((how) => reject(this.#failure(describe(how))));
      });
    } catch (error) {
      this.#child.kill('SIGKILL');
      await this.#exited;
      throw error;
    } finally {
      clearTimeout(timer);
      this.#onLine = null;
      this.#background();
    }
  }

  /** Ends the process by closing its standard input, and waits for it. */
  async end() {
    this.#child.ref();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), CLOSE_TIMEOUT_MS);
    this.#child.stdin.end();
    await this.#exited;
    clearTimeout(timer);
  }

  // A server that nobody closes does not keep this process running; it ends with it.
  #background() {
    this.#child.unref();
    for (const stream of this.#child.stdio) {
      stream?.unref?.();
    }
  }

  #read(stream) {
    const decoder = new StringDecoder('utf8');
    let rest = '';
    stream.on('data', (chunk) => {
      const lines = (rest + decoder.write(chunk)).split('\n');
      rest = lines.pop();
      lines.forEach((line) => this.#line(line));
    });
    stream.on('end', () => rest && this.#line(rest));
  }

  #line(line) {
    this.#lines.push(line);
    if (this.#lines.length > LOG_LINES) {
      this.#lines.shift();
    }
    this.#echo?.(line);
    this.#onLine?.(line);
  }

  #failure(what) {
    return new Error(`zlimit: ${what}${this.#lines.length > 0 ? `; its log:\n${this.log}` : ''}`);
  }
}

function describe(how) {
  if (how instanceof Error) {
    return `the server cannot be started: ${how.message}`;
  }
  return how.signal ? `the server was ended by ${how.signal}` : `the server ended with code ${how.code}`;
}

module.exports = { ServerProcess, describe };
