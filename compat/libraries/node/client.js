// Runs one library's algorithms through the scenario; see compat/libraries/README.md.
'use strict'

const { readFileSync } = require('node:fs')
const { join } = require('node:path')
const { parseArgs } = require('node:util')
const Redis = require('ioredis')
const { heldClock } = require('./held-clock')
const libraries = require('./libraries')
const { run } = require('./scenario')

// Not every package lets its package.json be required.
function version (name) {
  return JSON.parse(readFileSync(join(__dirname, 'node_modules', name, 'package.json'))).version
}

async function main () {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string' },
      clock: { type: 'string' },
      library: { type: 'string' },
      flow: { type: 'string', default: 'all' },
      key: { type: 'string' },
      cluster: { type: 'string', default: 'no' } // yes: the server is a node of a cluster
    }
  })
  if (!values.port || !values.clock || !values.key || !Object.hasOwn(libraries, values.library ?? '')) {
    throw new Error(`need --port, --clock, --key and --library, one of ${Object.keys(libraries).join(', ')}`)
  }
  // As long as a busy machine may need; once connected, these clients wait for ever.
  const address = { host: values.host, port: Number(values.port), connectTimeout: 60000, cluster: values.cluster === 'yes' }
  const clock = await heldClock(values.clock)
  const { library, client, flows } = require(libraries[values.library])
  const chosen = values.flow === 'all' ? Object.keys(flows) : [values.flow]
  const server = new Redis(address)
  console.log('client', library, version(library), 'on', client, version(client))
  for (const flow of chosen) {
    if (!Object.hasOwn(flows, flow)) throw new Error(`${library} has no flow ${flow}`)
    if (values.flow === 'all') console.log('flow', flow)
    const key = `${values.key}-${flow}`
    await server.flushall()
    await run(server, clock, key, (limit, seconds) => flows[flow](address, limit, seconds))
    console.log('end')
  }
  await server.quit()
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
