// muster up: a whole system on this machine, in one process and an embedded PostgreSQL.
import { join, resolve } from 'node:path';
import { type Cli, loadProfiles, measured, rememberProfile, usage } from '@muster/cli';
import type { MusterClient } from '@muster/client';
import type { JobView, NodeView } from '@muster/model';
import { keepsDatabase, makePassable } from '@muster/store';
import { defaultDir } from '../directories.ts';
import { portTrouble } from '../free-port.ts';
import { type LocalSystem, startLocalSystem } from '../local-system.ts';
import { fileLog } from '../log.ts';
import { machineOf, oversold, portsOf } from '../machine-flags.ts';
import { stopJobs } from '../stop-jobs.ts';
import { untilStopped } from '../stopping.ts';
import { serverVersion } from '../version.ts';
import type { UpFlags } from './up-flags.ts';

const profileName = 'local';

export async function up(cli: Cli, flags: UpFlags): Promise<void> {
  const options = checked(cli, flags);
  const { dir, port, agents } = options;
  const advice = 'is "muster up" running already? Else choose another with --port';
  const trouble = await portTrouble('127.0.0.1', port, advice);
  if (trouble !== null) throw usage(trouble.message);
  makeFolder(dir);
  const logFile = join(dir, 'muster.log');
  const log = fileLog(logFile, cli.globals.verbose ? 'debug' : 'info', cli.terminal.stderr);
  const began = performance.now();
  const stopped = untilStopped(cli, 'muster: leaving at once; "muster up" puts things in order again');
  let ready = false;
  void stopped.then(() => {
    if (!ready) cli.note('\nStopping as soon as the start is done; Ctrl-C again leaves at once.');
  });
  const { version, commit } = serverVersion();
  cli.note(`muster ${version} (${commit}) starts in ${dir}`);
  const tooMuch = oversold(agents.machine);
  if (tooMuch !== null) cli.note(`note: ${tooMuch}`);
  const databaseUrl = cli.terminal.env.DATABASE_URL;
  const system = await startLocalSystem({ dir, databaseUrl, port, agents, log });
  try {
    await describe(cli, system, dir, logFile);
    welcome(cli, system.nodes, performance.now() - began, await left(system.client), options.stopJobs);
    ready = true;
    await stopped;
    await leave(cli, system.client, options.stopJobs);
  } finally {
    await system.stop();
  }
  cli.note('Stopped.');
}

function makeFolder(dir: string): void {
  try {
    makePassable(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
        ? 'you may not write there'
        : code === 'EEXIST' || code === 'ENOTDIR'
          ? 'there is a file of that name'
          : code;
    throw usage(`cannot make the folder ${dir}: ${why}; choose another with --dir`);
  }
}

async function describe(cli: Cli, system: LocalSystem, dir: string, logFile: string): Promise<void> {
  const { database, url, nodes, token, adminToken } = system;
  say(cli, 'database', database.where);
  say(cli, 'server', url);
  for (const node of nodes) say(cli, 'node', nodeText(node));
  say(cli, 'log', logFile);
  say(cli, 'profile', await logIn(cli, url, token));
  if (adminToken === null) return;
  say(cli, 'token', adminToken);
  say(cli, '', `admin; shown this once, kept in ${join(dir, 'admin-token')}`);
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
    agents: {
      count: whole('--agents', flags.agents, 1, 100),
      machine: machineOf(flags),
      ports: portsOf(flags.ports),
      taskUser: taskUser(flags.taskUser, cli.terminal.env.DATABASE_URL),
    },
    stopJobs: flags.stopJobs ?? false,
  };
}

/** Jobs that run as the account of the embedded database could change it. */
function taskUser(user: string | undefined, databaseUrl: string | undefined): string | undefined {
  if (user === undefined || databaseUrl || !keepsDatabase(user)) return user;
  throw usage(
    `--task-user ${user}: the embedded PostgreSQL runs as this user, and jobs could change its data; name another`,
  );
}

function say(cli: Cli, name: string, text: string): void {
  cli.note(`  ${cli.notePaint('dim', name.padEnd(9))} ${text}`);
}

function nodeText(node: NodeView): string {
  const models = new Map<string, number>();
  for (const { model } of node.devices) models.set(model, (models.get(model) ?? 0) + 1);
  const devices = [...models].map(([model, count]) => `${count} ${model}`).join(', ') || 'no devices';
  const state = node.state === 'ready' ? '' : `  (${node.state}: not connected yet)`;
  const cores = node.cpuMilli === 1000 ? '1 core' : `${node.cpuMilli / 1000} cores`;
  return `${node.name}: ${devices}, ${cores}, ${Math.round(node.memoryMib / 102.4) / 10}GiB${state}`;
}

/**
 * The CLI of this user finds the system by itself, unless it was told to use another one, or another one of this kind is
 * running: that one keeps its name, and this one gets a name of its own.
 */
async function logIn(cli: Cli, server: string, token: string): Promise<string> {
  const { env } = cli.terminal;
  const { current: before, profiles } = loadProfiles(env);
  const other = profiles[profileName]?.server;
  if (other !== undefined && other !== server && (await answers(other))) {
    const name = `${profileName}-${new URL(server).port}`;
    rememberProfile(env, name, { server, token }, false);
    return `${name} ("${profileName}" is ${other}, which is running; use this one with: --profile ${name})`;
  }
  const chosen = before === null || before === profileName;
  rememberProfile(env, profileName, { server, token }, chosen);
  return chosen
    ? profileName
    : `${profileName} (yours is "${before}"; change with: muster profiles use ${profileName})`;
}

async function answers(server: string): Promise<boolean> {
  try {
    return (await fetch(new URL('/healthz', server), { signal: AbortSignal.timeout(1000) })).ok;
  } catch {
    return false;
  }
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
      : `Stopping. ${items.length} running job${items.length === 1 ? ' goes' : 's go'} on without a server for as long as ${items.length === 1 ? 'its' : 'their'} stopAfter allows (5 minutes unless the spec says otherwise); "muster up" finds ${items.length === 1 ? 'it' : 'them'} again.`,
  );
}
