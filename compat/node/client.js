'use strict'

// Runs the documents' flows through ioredis, or node-redis, and prints one line per decision; see compat/README.md.

const fs = require('node:fs')
const path = require('node:path')
const { parseArgs } = require('node:util')
const { Cluster, Redis } = require('ioredis')
const { version } = require('ioredis/package.json')
const { clusterFlows, oursOnly } = require('./clustered')
const { flows: documents, scripts } = require('./flows')
const { defaults } = require('./instants')

const flows = { ...documents, ...clusterFlows }

function commandLine(args) {
  const { values } = parseArgs({
    args,
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string' },
      flow: { type: 'string' },
      key: { type: 'string' },
      instants: { type: 'string' },
      protocol: { type: 'string', default: '2' },
      tls: { type: 'string' }, // folder with ca.crt and, if the client has them, client.crt and .key
      user: { type: 'string' }, // logs in as this user
      password: { type: 'string' },
      cluster: { type: 'string', default: 'no' }, // yes: the server is a node of a cluster
      library: { type: 'string', default: 'ioredis' }, // redis: node-redis, for clusters only
    },
  })
  for (const needed of ['port', 'flow', 'key']) {
    if (!values[needed]) throw new Error(`--${needed} is needed`)
  }
  if (values.flow !== 'all' && !flows[values.flow]) throw new Error(`no flow ${values.flow}`)
  if (!['2', '3'].includes(values.protocol)) throw new Error('--protocol is 2 or 3')
  const instants = values.instants?.split(',').map(Number)
  if (instants && !instants.every(Number.isSafeInteger)) throw new Error('--instants are whole milliseconds')
  return { ...values, instants }
}

// The options of a connection over TLS; undefined without --tls.
function tls(folder) {
  if (!folder) return undefined
  const read = (name) => fs.readFileSync(path.join(folder, name))
  if (!fs.existsSync(path.join(folder, 'client.crt'))) return { ca: read('ca.crt') }
  return { ca: read('ca.crt'), cert: read('client.crt'), key: read('client.key') }
}

function connectIoredis(args) {
  const options = {
    protocol: Number(args.protocol),
    tls: tls(args.tls),
    username: args.user,
    password: args.password,
    connectTimeout: 60000, // as long as a busy machine needs
    // A server that is not there is a failure, not something to wait for.
    retryStrategy: null,
    maxRetriesPerRequest: 0,
  }
  const address = { host: args.host, port: Number(args.port) }
  if (args.cluster !== 'yes') return new Redis({ ...address, ...options, scripts })
  const cluster = new Cluster([address], {
    redisOptions: options, scripts, clusterRetryStrategy: null, slotsRefreshTimeout: 60000, shardedSubscribers: true,
  })
  cluster.hear = async (subscribe, publish, channel, text) => {
    const heard = new Promise((resolve) => {
      cluster.once(subscribe === 'subscribe' ? 'message' : 'smessage', (_channel, message) => resolve(message))
    })
    await cluster[subscribe](channel)
    await cluster[publish](channel, text)
    return heard
  }
  return cluster
}

async function once(words) {
  const args = commandLine(words)
  const other = args.library === 'redis'
  const redis = other ? await require('./node-redis').connect(args, scripts) : connectIoredis(args)
  // What failed reaches main's caller with the command that failed; without a listener ioredis logs it once more.
  redis.on('error', () => {})
  const run = async (name, key) => {
    for await (const [instant, decision, details] of flows[name](redis, key, args.instants ?? defaults[name])) {
      console.log([instant, decision, ...Object.entries(details).map(([field, value]) => `${field}=${value}`)].join(' '))
    }
    console.log('end')
  }
  console.log(other ? `client node-redis ${require('redis/package.json').version}` : `client ioredis ${version}`)
  try {
    if (args.flow !== 'all') return await run(args.flow, args.key)
    for (const name of Object.keys(args.cluster === 'yes' ? flows : documents)) {
      if (oursOnly.includes(name)) continue
      console.log(`flow ${name}`)
      await run(name, `${args.key}:${name}`)
    }
  } finally {
    redis.disconnect()
  }
}

// Runs the command lines read, whose words are separated by tabs, each with a client of its own.
async function batch() {
  for (const line of fs.readFileSync(0, 'utf8').trimEnd().split('\n')) {
    let code = 0
    try {
      await once(line.split('\t'))
    } catch (error) {
      console.error(error)
      code = 1
    }
    console.log(`exit ${code}`)
  }
}

const words = process.argv.slice(2)
const main = () => (words.length === 1 && words[0] === '--batch' ? batch() : once(words))
main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
