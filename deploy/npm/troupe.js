#!/usr/bin/env node
// Runs the program of the package for this platform, which npm installs as an optional dependency.
'use strict';
const { spawn } = require('child_process');

const name = `${require('../package.json').name}-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/troupe`);
} catch {
  console.error(`troupe: the package ${name} is missing. ` +
    'There are packages for linux and darwin, x64 and arm64; npm leaves them out with --omit=optional or --no-optional.');
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// A terminal sends its signals to both. The program decides when it has ended.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', err => { console.error(`troupe: ${err.message}`); process.exit(2); });
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
