// rate-limiter-flexible on ioredis.
'use strict'

const Redis = require('ioredis')
const { RateLimiterRedis, RateLimiterRes } = require('rate-limiter-flexible')

function reported (result) {
  return { consumed: result.consumedPoints, remaining: result.remainingPoints, reset: Math.round(result.msBeforeNext / 1000) }
}

function limiterOf (options) {
  return async (address, limit, seconds) => {
    const storeClient = address.cluster ? new Redis.Cluster([address]) : new Redis(address)
    const limiter = new RateLimiterRedis({ storeClient, points: limit, duration: seconds, ...options })
    const hit = async key => {
      try {
        return [true, reported(await limiter.consume(key))]
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal
        return [false, reported(refusal)]
      }
    }
    return { hit, close: () => storeClient.quit() }
  }
}

module.exports = {
  library: 'rate-limiter-flexible',
  client: 'ioredis',
  flows: {
    'fixed-window': limiterOf({}),
    'fixed-window-block': limiterOf({ blockDuration: 4 })
  }
}
