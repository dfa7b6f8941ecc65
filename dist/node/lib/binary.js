'use strict';
// Where the server's binary is. Each platform has a package of its own, of which npm installs
// the one that fits: they are optional dependencies, and their package.json names os and cpu.

const fs = require('node:fs');
const path = require('node:path');
const { optionalDependencies } = require('../package.json');

// Names a binary to use instead of the installed one.
const ENVIRONMENT_VARIABLE = 'ZLIMIT_SERVER';

const packages = Object.keys(optionalDependencies).sort();

/** Returns the path of the server's binary, and makes it executable if it is not. */
function binaryPath(platform = process.platform, arch = process.arch) {
  const chosen = process.env[ENVIRONMENT_VARIABLE];
  if (chosen) {
    return executable(chosen);
  }
  return executable(installed(`@zlimit/${platform}-${arch}`, `${platform}-${arch}`));
}

// Returns where a platform's package has its binary.
function installed(name, platform) {
  if (!packages.includes(name)) {
    const platforms = packages.map((p) => p.slice('@zlimit/'.length)).join(', ');
    throw new Error(`zlimit: there is no server for ${platform}, only for ${platforms}. ` +
      `Set ${ENVIRONMENT_VARIABLE} to the path of a zlimit-server that you have built.`);
  }
  try {
    return path.join(path.dirname(require.resolve(`${name}/package.json`)), 'bin', 'zlimit-server');
  } catch (cause) {
    throw new Error(`zlimit: the package ${name}, which has the server, is not installed. ` +
      'npm leaves it out with --omit=optional, with --no-optional, and if node_modules was copied ' +
      `from another platform. Install again, or set ${ENVIRONMENT_VARIABLE} to the path of a zlimit-server.`,
    { cause });
  }
}

// Archives and copies may lose the permission to execute.
function executable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return file;
  } catch (cause) {
    if (cause.code === 'ENOENT') {
      throw new Error(`zlimit: there is no file ${file}`, { cause });
    }
  }
  try {
    fs.chmodSync(file, 0o755);
    return file;
  } catch (cause) {
    throw new Error(`zlimit: ${file} is not executable, and cannot be made so (${cause.code}). ` +
      `Run chmod +x on it as its owner, or set ${ENVIRONMENT_VARIABLE} to the path of another zlimit-server.`,
    { cause });
  }
}

module.exports = { binaryPath, ENVIRONMENT_VARIABLE };
