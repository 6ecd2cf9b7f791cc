// muster up: a whole system on this machine, in one process and an embedded PostgreSQL.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defaultMaxBodyBytes } from '@muster/api';
import { type Cli, loadProfiles, measured, rememberProfile, usage } from '@muster/cli';
import { createClient, type MusterClient } from '@muster/client';
import type { JobView, NodeView } from '@muster/model';
import { type Database, openDatabase } from '../database.ts';
import { defaultDir } from '../directories.ts';
import { requireFreePort } from '../free-port.ts';
import { type LocalAgents, startLocalAgents } from '../local-agents.ts';
import { localToken } from '../local-token.ts';
import { fileLog } from '../log.ts';
import { machineOf, portsOf } from '../machine-flags.ts';
import { type Stack, startStack } from '../stack.ts';
import { stopJobs } from '../stop-jobs.ts';
import { endOnBug, untilStopped } from '../stopping.ts';
import { serverVersion } from '../version.ts';
import type { UpFlags } from './up-flags.ts';

const profileName = 'local';

export async function up(cli: Cli, flags: UpFlags): Promise<void> {
  const options = checked(cli, flags);
  const { dir } = options;
  await requireFreePort(
    '127.0.0.1',
    options.port,
    'is "muster up" running already? Else choose another with --port',
  );
  mkdirSync(dir, { recursive: true, mode: 0o711 });
  const logFile = join(dir, 'muster.log');
  const log = fileLog(logFile, cli.globals.verbose ? 'debug' : 'info', cli.terminal.stderr);
  const began = performance.now();
  const stopped = untilStopped(cli, 'muster: leaving at once; "muster up" puts things in order again');
  const version = serverVersion();
  cli.note(`muster ${version.version} (${version.commit}) starts in ${dir}`);
  const parts: { stop(): Promise<void> }[] = [];
  try {
    const database: Database = await openDatabase(cli.terminal.env.DATABASE_URL, join(dir, 'db'), (line) =>
      log.info({}, line),
    );
    parts.unshift(database);
    const stack: Stack = await startStack({
      databaseUrl: database.url,
      api: {
        host: '127.0.0.1',
        port: options.port,
        tls: null,
        behindTlsProxy: false,
        maxBodyBytes: defaultMaxBodyBytes,
      },
      version,
      log,
      onBug: endOnBug(log),
    });
    parts.unshift(stack);
    const token = await localToken(stack, dir);
    const client = createClient({ url: stack.url, token });
    const agents: LocalAgents = await startLocalAgents({ ...options, client, server: stack.url, log, dir });
    parts.unshift(agents);
    const { nodes } = agents;
    say(cli, 'database', database.where);
    say(cli, 'server', stack.url);
    for (const node of nodes) say(cli, 'node', nodeText(node));
    say(cli, 'log', logFile);
    say(cli, 'profile', logIn(cli, stack.url, token));
    if (stack.adminToken !== null) {
      say(cli, 'token', stack.adminToken);
      say(cli, '', `admin; shown this once, kept in ${join(dir, 'admin-token')}`);
    }
    welcome(cli, nodes, performance.now() - began, await left(client), options.stopJobs);
    await stopped;
    await leave(cli, client, options.stopJobs);
  } finally {
    for (const part of parts) await part.stop().catch((error: Error) => cli.note(`muster: ${error.message}`));
  }
  cli.note('Stopped.');
}

function checked(cli: Cli, flags: UpFlags) {
  const whole = (flag: string, text: string, min: number, max: number): number => {
    const value = Number(text);
    if (!/^\d{1,6}$/.test(text) || value < min || value > max)
      throw usage(`${flag} wants a whole number from ${min} to ${max}, got "${text}"`);
    return value;
  };
  return {
    dir: resolve(flags.dir ?? defaultDir(cli.terminal.env, 'muster')),
    port: whole('--port', flags.port, 0, 65_535),
    count: whole('--agents', flags.agents, 1, 100),
    machine: machineOf(flags),
    ports: portsOf(flags.ports),
    taskUser: flags.taskUser,
    stopJobs: flags.stopJobs ?? false,
    // Every node is this machine, and only it needs to reach them.
    address: '127.0.0.1',
  };
}

function say(cli: Cli, name: string, text: string): void {
  cli.note(`  ${cli.notePaint('dim', name.padEnd(9))} ${text}`);
}

function nodeText(node: NodeView): string {
  const models = new Map<string, number>();
  for (const { model } of node.devices) models.set(model, (models.get(model) ?? 0) + 1);
  const devices = [...models].map(([model, count]) => `${count} ${model}`).join(', ') || 'no devices';
  const state = node.state === 'ready' ? '' : `  (${node.state}: not connected yet)`;
  return `${node.name}: ${devices}, ${node.cpuMilli / 1000} cores, ${Math.round(node.memoryMib / 102.4) / 10}GiB${state}`;
}

/** The CLI of this user finds the system by itself, unless it was told to use another one. */
function logIn(cli: Cli, server: string, token: string): string {
  const { env } = cli.terminal;
  const before = loadProfiles(env).current;
  const chosen = before === null || before === profileName;
  rememberProfile(env, profileName, { server, token }, chosen);
  return chosen
    ? profileName
    : `${profileName} (yours is "${before}"; change with: muster profiles use ${profileName})`;
}

function welcome(cli: Cli, nodes: readonly NodeView[], tookMs: number, live: number, cancels: boolean): void {
  const gpus = nodes.some((node) => node.devices.length > 0) ? '--gpus 1 ' : '';
  cli.note('');
  cli.note(`${cli.notePaint('bold', `Ready after ${measured(tookMs)}.`)} In another terminal:`);
  cli.note(`  ${`muster run ${gpus}-- hostname`.padEnd(34)}a job, followed to its end`);
  cli.note(`  ${'muster ps'.padEnd(34)}jobs; also: nodes, why JOB, logs JOB`);
  if (live > 0)
    cli.note(
      `${live} job${live === 1 ? '' : 's'} of last time ${live === 1 ? 'is' : 'are'} still there: muster ps`,
    );
  cli.note(
    cancels
      ? 'Ctrl-C cancels every job and stops the system.'
      : 'Ctrl-C stops the system; running jobs go on and are found again at the next start.',
  );
}

const liveStates: readonly JobView['state'][] = ['queued', 'starting', 'running', 'stopping'];

async function left(client: MusterClient): Promise<number> {
  return (await client.jobs.list({ state: liveStates, limit: 1000 })).items.length;
}

async function leave(cli: Cli, client: MusterClient, cancel: boolean): Promise<void> {
  cli.note('');
  if (cancel) return stopJobs(cli, client);
  const { items } = await client.jobs.list({ state: ['starting', 'running', 'stopping'], limit: 1000 });
  cli.note(
    items.length === 0
      ? 'Stopping.'
      : `Stopping. ${items.length} running job${items.length === 1 ? ' goes' : 's go'} on without a server for as long as its stopAfter allows (5 minutes unless it says otherwise); "muster up" finds ${items.length === 1 ? 'it' : 'them'} again.`,
  );
}
