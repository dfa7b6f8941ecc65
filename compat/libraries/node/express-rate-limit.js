// express-rate-limit with rate-limit-redis on node-redis: an application whose one route is limited, and its headers.
'use strict'

const http = require('node:http')
const { text } = require('node:stream/consumers')
const express = require('express')
const { rateLimit } = require('express-rate-limit')
const { RedisStore } = require('rate-limit-redis')
const { createClient } = require('redis')

async function limiter (address, limit, seconds) {
  const client = createClient({ socket: address })
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
  const listening = http.createServer(app)
  await new Promise(resolve => listening.listen({ port: 0, host: '127.0.0.1', backlog: 2048 }, resolve))
  const { port: own } = listening.address()

  // A connection for each call: one that is kept may be closed at the moment in which it is used again.
  const agent = new http.Agent({ keepAlive: false })
  const get = key => new Promise((resolve, reject) => {
    http.get({ host: '127.0.0.1', port: own, agent, headers: { 'x-caller': key } }, resolve).on('error', reject)
  })
  const hit = async key => {
    const response = await get(key)
    const page = await text(response)
    if (response.statusCode === 500) throw new Error(page)
    return [response.statusCode === 200, {
      status: response.statusCode,
      remaining: response.headers['ratelimit-remaining'],
      reset: response.headers['ratelimit-reset']
    }]
  }
  const close = async () => {
    await new Promise(resolve => listening.close(resolve))
    await client.close()
  }
  return { hit, close }
}

module.exports = { library: 'rate-limit-redis', client: 'redis', flows: { 'fixed-window': limiter } }
