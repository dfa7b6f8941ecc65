// The server's clock, which stands still until it is told to go on. Date.now follows it; the timers do not.
'use strict'

async function heldClock (address) {
  let now = 0
  const ask = async path => {
    const response = await fetch(address + path)
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    now = Number(text)
  }
  await ask('/now')
  Date.now = () => now
  return { advance: ms => ask(`/advance?ms=${ms}`) }
}

module.exports = { heldClock }
