// express-rate-limit with rate-limit-redis on node-redis: an application whose one route is limited, and its headers.
'use strict'

const express = require('express')
const { rateLimit } = require('express-rate-limit')
const { RedisStore } = require('rate-limit-redis')
const { createClient } = require('redis')

async function limiter ({ host, port }, limit, seconds) {
  const client = createClient({ socket: { host, port } })
  client.on('error', () => {}) // without a listener a lost connection ends the process instead of being made again
  await client.connect()
  const app = express()
  app.use(rateLimit({
    windowMs: seconds * 1000,
    limit,
    standardHeaders: 'draft-6',
    legacyHeaders: false,
    keyGenerator: request => request.get('x-caller'),
    store: new RedisStore({ sendCommand: (...args) => client.sendCommand(args) })
  }))
  app.get('/', (request, response) => response.send('served'))
  // Express knows an error handler by its four parameters.
  app.use((error, request, response, next) => response.status(500).send(`${error.name}:${error.message}`))
  const listening = app.listen(0, '127.0.0.1')
  await new Promise(resolve => listening.once('listening', resolve))
  const url = `http://127.0.0.1:${listening.address().port}/`

  const hit = async key => {
    const response = await fetch(url, { headers: { 'x-caller': key } })
    const text = await response.text()
    if (response.status === 500) throw new Error(text)
    return [response.status === 200, {
      status: response.status,
      remaining: response.headers.get('ratelimit-remaining'),
      reset: response.headers.get('ratelimit-reset')
    }]
  }
  const close = async () => {
    listening.closeAllConnections()
    await new Promise(resolve => listening.close(resolve))
    await client.close()
  }
  return { hit, close }
}

module.exports = { library: 'rate-limit-redis', client: 'redis', flows: { 'fixed-window': limiter } }
