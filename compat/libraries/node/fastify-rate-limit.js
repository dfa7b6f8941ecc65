// @fastify/rate-limit on ioredis: an application whose one route is limited, and its headers.
'use strict'

const fastify = require('fastify')
const Redis = require('ioredis')

function limiterOf (options) {
  return async (address, limit, seconds) => {
    const redis = new Redis(address)
    const app = fastify()
    await app.register(require('@fastify/rate-limit'), {
      max: limit,
      timeWindow: seconds * 1000,
      redis,
      keyGenerator: request => request.headers['x-caller'],
      ...options
    })
    app.get('/', async () => 'served')
    const hit = async key => {
      const response = await app.inject({ url: '/', headers: { 'x-caller': key } })
      if (response.statusCode === 500) throw new Error(response.json().message)
      return [response.statusCode === 200, {
        status: response.statusCode,
        remaining: response.headers['x-ratelimit-remaining'],
        reset: response.headers['x-ratelimit-reset']
      }]
    }
    const close = async () => {
      await app.close()
      await redis.quit()
    }
    return { hit, close }
  }
}

module.exports = {
  library: '@fastify/rate-limit',
  client: 'ioredis',
  flows: {
    'fixed-window': limiterOf({}),
    'continue-exceeding': limiterOf({ continueExceeding: true }),
    'exponential-backoff': limiterOf({ exponentialBackoff: true })
  }
}
