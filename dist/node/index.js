'use strict';
// A zlimit-server for tests, with a clock that the test moves.

const { binaryPath, ENVIRONMENT_VARIABLE } = require('./lib/binary');
const { ReplyError } = require('./lib/connection');
const { startServer } = require('./lib/server');
const { version } = require('./package.json');

module.exports = { startServer, binaryPath, ReplyError, ENVIRONMENT_VARIABLE, version };
