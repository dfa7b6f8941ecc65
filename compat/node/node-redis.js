'use strict'

// A cluster client of node-redis under the names that the flows use, which are those of ioredis.

const { createHash } = require('node:crypto')
const { createCluster } = require('redis')

// The commands whose first argument is no key.
const KEYLESS = new Set(['script', 'cluster'])

// The position of the key in a command that begins with its name.
const keyAt = (words) => (/^EVAL/i.test(words[0]) ? 3 : 1)

async function connect(args, scripts) {
  const cluster = createCluster({
    rootNodes: [{ socket: { host: args.host, port: Number(args.port), connectTimeout: 60000, reconnectStrategy: false } }],
    RESP: Number(args.protocol),
    maxCommandRedirections: 0,
  })
  cluster.on('error', () => {})
  await cluster.connect()
  const send = (...words) => {
    const text = words.map(String)
    const key = KEYLESS.has(words[0].toLowerCase()) ? undefined : text[keyAt(text)]
    return cluster.sendCommand(key, false, text)
  }
  const named = {
    call: send,
    on: () => {},
    disconnect: () => cluster.destroy(),
    multi: () => transaction(cluster),
    async hear(subscribe, publish, channel, text) {
      const [listen, say] = subscribe === 'subscribe' ? ['subscribe', 'publish'] : ['sSubscribe', 'sPublish']
      let heard
      const message = new Promise((resolve) => { heard = resolve })
      await cluster[listen](channel, heard)
      await cluster[say](channel, text)
      return message
    },
  }
  for (const [name, { numberOfKeys, lua }] of Object.entries(scripts)) {
    const sha = createHash('sha1').update(lua).digest('hex')
    named[name] = (...args) => send('evalsha', sha, numberOfKeys, ...args).catch((error) => {
      if (!error.message.startsWith('NOSCRIPT')) throw error
      return send('eval', lua, numberOfKeys, ...args)
    })
  }
  return new Proxy(named, {
    get: (target, name) => target[name] ?? (name === 'then' ? undefined : (...args) => send(name, ...args)),
  })
}

// MULTI: commands are queued by name, and exec has [null, reply] for each, as ioredis has.
function transaction(cluster) {
  const commands = []
  const exec = async () => {
    const multi = cluster.multi(commands[0][1])
    for (const words of commands) multi.addCommand(words[1], false, words)
    return (await multi.exec()).map((reply) => [null, reply])
  }
  const queue = new Proxy({}, {
    get: (_target, name) => (name === 'exec' ? exec : (...args) => {
      commands.push([name, ...args].map(String))
      return queue
    }),
  })
  return queue
}

module.exports = { connect }
