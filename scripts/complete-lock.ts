// Completes package-lock.json after dependencies change (`npm run lock`). npm leaves an optional package out of the
// lock when the registry in use does not have it, as mirrors often lack builds for other platforms; `npm ci` then
// refuses the lock as incomplete, on every machine. This adds the missing entries as npm would have written them:
// the version their parent pins, and the platform that their name states, so that other platforms skip them.
// They carry no integrity hash, because nobody here has seen the file.
import { readFileSync, writeFileSync } from 'node:fs';

interface LockEntry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  link?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const systems = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
  'aix',
];
const processors = [
  'arm64',
  'arm',
  'x64',
  'ia32',
  'ppc64',
  's390x',
  'riscv64',
  'loong64',
  'mips64el',
  'wasm32',
];

function platformOf(name: string): Pick<LockEntry, 'os' | 'cpu' | 'libc'> {
  const words = name.split(/[/-]/);
  const os = systems.filter((system) => words.includes(system));
  const cpu = processors.filter((processor) => words.includes(processor));
  if (cpu.length !== 1) throw new Error(`the name of ${name} does not say which processor it is for`);
  const musl = words.some((word) => word.startsWith('musl'));
  const glibc = words.some((word) => word.startsWith('gnu'));
  const libc = os[0] !== 'linux' ? [] : musl ? ['musl'] : glibc ? ['glibc'] : [];
  return { cpu, ...(os.length > 0 && { os }), ...(libc.length > 0 && { libc }) };
}

function completed(packages: Record<string, LockEntry>): Record<string, LockEntry> {
  const all = { ...packages };
  for (const [path, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (all[`node_modules/${name}`] || all[`${path}/node_modules/${name}`]) continue;
      // Only an exact pin tells which version the missing entry would have.
      if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        throw new Error(`${path} wants ${name} ${version}: not exact`);
      const dev = entry.dev ? { dev: true } : {};
      all[`node_modules/${name}`] = { version, ...dev, optional: true, ...platformOf(name) };
    }
  }
  const paths = Object.keys(all).sort((a, b) => a.localeCompare(b, 'en'));
  return Object.fromEntries(paths.map((path) => [path, all[path]!]));
}

const lockPath = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(lockPath, 'utf8'));
lock.packages = completed(lock.packages);
writeFileSync(lockPath, `${JSON.stringify(lock, null, 2)}\n`);
