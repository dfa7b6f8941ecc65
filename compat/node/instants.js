'use strict'

// Instants used when none are given: each list crosses its limit, meets the window's edge exactly, one millisecond
// before and after it, repeats instants, and steps back. BASE is a multiple of 5000, so it opens a slice of rolling.
const BASE = 1_700_000_000_000
const at = (...offsets) => offsets.map((offset) => BASE + offset)
const range = (count, of) => Array.from({ length: count }, (_, i) => of(i))

// Forwards, whole seconds put at most `window` members in a window of as many seconds, so a limit of 100 is never
// reached that way. A clock that steps back reaches it: what lies ahead of now is not trimmed. From there the oldest
// second leaves exactly one window later.
function wholeSeconds(window) {
  const forwards = range(105, (i) => i * 500)
  const back = range(103, (i) => -1000 * (i + 1))
  const edge = window * 1000 - 99_000
  const around = [edge - 1, edge, edge, edge + 1000]
  return at(...forwards, 59_999, 60_000, 60_000, 60_001, 120_000, ...back, ...around, 110_999, 111_000, 112_001, 300_000)
}

// The last four: sixteen digits, past what Lua's tostring keeps, and the first instant of all.
const millis = [
  ...at(0, 0, 1, 2, 3, 59_999, 60_000, 60_000, 60_001, 60_002, 60_002, 1000, 200_000),
  ...[BASE * 1000 + 123, BASE * 1000 + 124, BASE * 1000 + 60_123, 0],
]

// A denied hit stays in the set, so each side of the edge needs a round of its own.
const addFirst = [
  ...at(0, 1, 2, 3, 4, 5, 6, 59_999, 60_000, 60_001, 60_004, 60_004, 60_005),
  ...at(200_000, 200_001, 200_002, 200_003, 200_004, 259_999),
  ...at(400_000, 400_001, 400_002, 400_003, 400_004, 460_000, 460_001, 460_001, 399_999, 460_000, 700_000),
]

const defaults = {
  'commands-seconds': wholeSeconds(60),
  'script-millis': millis,
  'pipeline-multi': addFirst,
  // Fifteen calls in five milliseconds are five members: all pass. A sixth millisecond is one too many.
  'pipeline-collision': at(...range(15, (i) => Math.floor(i / 3)), 5, 5, 60_000, 60_000, 60_001, 60_002, 60_005),
  'pipeline-lua': addFirst,
  'script-seconds': wholeSeconds(10),
  rolling: at(0, 0, 0, 0, 1, 2, 2500, 4000, 4998, 4999, 4999, 4999, 5000, 5001, 4999, -1, 9999, 10_000),
  'hash-tag': at(0, 0, 999, 1000, 2000, 3000, 4000, 5000, 9999, 10_000, 10_001, 11_000, 11_000, 12_000, -1, 60_000),
}

module.exports = { defaults }
