// The modules of the libraries, by name.
'use strict'

module.exports = {
  'rate-limiter-flexible': './rate-limiter-flexible',
  'rate-limit-redis': './express-rate-limit',
  'fastify-rate-limit': './fastify-rate-limit'
}
