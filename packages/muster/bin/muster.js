#!/usr/bin/env node
// The launcher. It is the only file that must run on an old Node, so it is CommonJS (see the package.json beside
// it) and uses no syntax and no module names newer than Node 12. On Node 24 or newer it loads the program in
// this process; on an older one it runs the same command again with the Node 24 that npm installed beside us.

const fs = require('fs');
const path = require('path');

const neededMajor = 24;

// `npm run muster` changes to the checkout first; files and the working directory of jobs are meant from where it was called.
if (process.env.npm_lifecycle_event === 'muster' && process.env.INIT_CWD) {
  try {
    process.chdir(process.env.INIT_CWD);
  } catch (_) {
    // Gone meanwhile: then the checkout is as good a place as any.
  }
}

function majorOf(version) {
  return Number(version.split('.')[0]);
}

// Walks up from this file as module resolution does, so that it works in a checkout, a local and a global install.
function findNode() {
  const name = `node-${process.platform}-${process.arch}`;
  let folder = __dirname;
  for (;;) {
    const found = path.join(folder, 'node_modules', name);
    const program = path.join(found, 'bin', 'node');
    if (fs.existsSync(program)) {
      const { version } = JSON.parse(fs.readFileSync(path.join(found, 'package.json'), 'utf8'));
      // An older one would come back here and start itself for ever.
      if (majorOf(version) >= neededMajor) return program;
    }
    const parent = path.dirname(folder);
    if (parent === folder) return undefined;
    folder = parent;
  }
}

function runWith(program) {
  const child = require('child_process').spawn(program, [__filename].concat(process.argv.slice(2)), {
    stdio: 'inherit',
  });
  const atTerminal = require('tty').isatty(0);
  const forwarded = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];
  for (const signal of forwarded) {
    process.on(signal, () => {
      // A terminal sends these two to the child as well; a second copy would read as "stop now, without grace".
      if (atTerminal && (signal === 'SIGINT' || signal === 'SIGQUIT')) return;
      child.kill(signal);
    });
  }
  child.on('error', (error) => {
    process.stderr.write(`muster: cannot start ${program}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code;
      return;
    }
    // Whoever started us should see the same end as the program had.
    for (const name of forwarded) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}

// Not the default folder below /tmp: cached code there could be planted by another user of the machine.
function compileCacheFolder() {
  const base = process.env.XDG_CACHE_HOME || path.join(require('os').homedir(), '.cache');
  return path.join(base, 'muster', 'compile-cache');
}

function runHere() {
  try {
    if (!process.env.NODE_COMPILE_CACHE) require('module').enableCompileCache(compileCacheFolder());
  } catch (_) {
    // The cache only makes the start faster; a user without a home folder starts without it.
  }
  const source = path.join(__dirname, '..', 'src', 'main.ts');
  const built = path.join(__dirname, '..', 'dist', 'main.js');
  // A failure to load is an unhandled rejection: Node prints it and exits with 1.
  import(require('url').pathToFileURL(fs.existsSync(source) ? source : built).href);
}

if (majorOf(process.versions.node) >= neededMajor) {
  runHere();
} else {
  const program = findNode();
  if (program === undefined) {
    process.stderr.write(
      `muster needs Node ${neededMajor} or newer and this is Node ${process.versions.node}: ` +
        'install Node 24, or run npm install without --omit=optional on Linux.\n',
    );
    process.exitCode = 1;
  } else {
    runWith(program);
  }
}
