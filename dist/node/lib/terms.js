'use strict';
// Terms of RL.MALLOW and RL.MRESERVE, and the replies of commands with several keys.

const OPTIONS = { limits: ['key', 'limits', 'cost', 'algorithm'], slots: ['key', 'max', 'lease'] };

/** Returns the words of a term behind the keys. */
function words(term) {
  const kind = 'max' in term || 'lease' in term ? 'slots' : 'limits';
  only(`a term of ${kind}`, term, OPTIONS[kind]);
  if (kind === 'slots') {
    return ['TERM', 'SLOTS', term.max, 'LEASE', term.lease];
  }
  const { limits, cost = 1, algorithm } = term;
  return ['TERM', ...limits.flatMap(([limit, window]) => [limit, window]), ...algo(algorithm), 'COST', cost];
}

/** Returns the words that select an algorithm, none for undefined. */
function algo(algorithm) {
  return algorithm === undefined ? [] : ['ALGO', ...algorithm.split(' ')];
}

/** Throws for a property that is none of those named. */
function only(what, options, names) {
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) {
      throw new TypeError(`${what}: there is no option ${name}; there are ${names.join(', ')}`);
    }
  }
}

function decision([allowed, limit, remaining, retryAfterMs, resetAfterMs]) {
  return { allowed, limit, remaining, retryAfterMs, resetAfterMs };
}

function termDecision([term, ...rest]) {
  return { term, ...decision(rest) };
}

/** Returns what a reply over several keys says of each: nothing if it is 0, since the id has no hold. */
function each(reply, make) {
  return reply === 0 ? [] : reply.map(make);
}

module.exports = { algo, decision, each, only, termDecision, words };
