'use strict';
// Replies in RESP2, read from chunks as they arrive.

/** An error that the server has replied. */
class ReplyError extends Error {
  constructor(message) {
    super(message);
    this.name = 'ReplyError';
  }
}

// Returned by parse when the rest of a reply has not arrived.
const INCOMPLETE = Symbol('incomplete');

/** Reads replies: write takes a chunk and returns the replies that it completes. */
class ReplyReader {
  #buffer = Buffer.alloc(0);
  #at = 0;

  write(chunk) {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    const replies = [];
    for (let begin = 0; ; begin = this.#at) {
      this.#at = begin;
      const reply = this.#parse();
      if (reply === INCOMPLETE) {
        this.#buffer = this.#buffer.subarray(begin);
        return replies;
      }
      replies.push(reply);
    }
  }

  #parse() {
    const end = this.#buffer.indexOf('\r\n', this.#at);
    if (end < 0) {
      return INCOMPLETE;
    }
    const kind = String.fromCharCode(this.#buffer[this.#at]);
    const text = this.#buffer.toString('utf8', this.#at + 1, end);
    this.#at = end + 2;
    switch (kind) {
      case '+':
        return text;
      case '-':
        return new ReplyError(text);
      case ':':
        return Number(text);
      case '$':
        return this.#bulk(Number(text));
      case '*':
        return this.#array(Number(text));
      default:
        throw new Error(`zlimit: a reply begins with ${JSON.stringify(kind)}`);
    }
  }

  #bulk(length) {
    if (length < 0) {
      return null;
    }
    const end = this.#at + length;
    if (this.#buffer.length < end + 2) {
      return INCOMPLETE;
    }
    const text = this.#buffer.toString('utf8', this.#at, end);
    this.#at = end + 2;
    return text;
  }

  #array(length) {
    if (length < 0) {
      return null;
    }
    const items = [];
    for (let i = 0; i < length; i++) {
      const item = this.#parse();
      if (item === INCOMPLETE) {
        return INCOMPLETE;
      }
      items.push(item);
    }
    return items;
  }
}

module.exports = { ReplyError, ReplyReader };
