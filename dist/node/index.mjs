// The ES module has the names of the CommonJS one, and shares its state.
import zlimit from './index.js';

export const { startServer, binaryPath, ReplyError, ENVIRONMENT_VARIABLE, version } = zlimit;
