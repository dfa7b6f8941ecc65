// Makes a library's calls one at a time, as its standard input says; see compat/libraries/README.md.
'use strict'

const { createInterface } = require('node:readline')
const libraries = require('./libraries')

async function main ([library, flow]) {
  const make = require(libraries[library]).flows[flow]
  let address
  let limiters = new Map()
  for await (const line of createInterface({ input: process.stdin })) {
    const [word, ...args] = line.split(' ')
    if (word === 'connect') {
      address = { host: '127.0.0.1', port: Number(args[0]) }
      limiters = new Map() // the connections stay open, as of a process that is being replaced
      console.log('connected')
      continue
    }
    const [key, limit, seconds] = args
    try {
      const rule = `${limit} ${seconds}`
      if (!limiters.has(rule)) limiters.set(rule, await make(address, Number(limit), Number(seconds)))
      const [allowed, fields] = await limiters.get(rule).hit(key)
      const reported = Object.entries(fields).map(([name, value]) => `${name}=${value}`)
      console.log([allowed ? 'allowed' : 'denied', ...reported].join(' '))
    } catch (error) {
      console.log(`error ${error.name} ${error.message}`.replaceAll(/\s+/g, ' '))
    }
  }
}

main(process.argv.slice(2)).then(() => process.exit(0), error => {
  console.error(error)
  process.exit(1)
})
