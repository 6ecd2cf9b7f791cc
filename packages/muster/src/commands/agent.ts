// muster agent: enrols on the first start, then runs until told to stop or until its node is removed. Tasks are the
// supervisor's and go on without it.
import { resolve } from 'node:path';
import {
  type AgentHandle,
  enrolAgent,
  type Identity,
  type Logger,
  openStateDir,
  readIdentity,
  runAgent,
  tokenHash,
} from '@muster/agent';
import { type Cli, CliFailure, exit, readTokenFile, usage } from '@muster/cli';
import { OperationalError } from '@muster/model';
import { defaultDir } from '../directories.ts';
import { streamLog } from '../log.ts';
import type { LogLevel } from '../log-levels.ts';
import { machineOf, oversold, pairsOf, portsOf } from '../machine-flags.ts';
import { nodeName } from '../node-name.ts';
import { untilStopped } from '../stopping.ts';
import type { AgentFlags } from './agent-flags.ts';

export async function agent(cli: Cli, flags: AgentFlags): Promise<void> {
  const dir = flags.dir ?? defaultDir(cli.terminal.env, 'muster-agent');
  const machine = machineOf(flags);
  const ports = flags.ports === undefined ? undefined : portsOf(flags.ports);
  const userMap = flags.userMap === undefined ? undefined : pairsOf('--user-map', flags.userMap);
  const log = streamLog(cli.terminal.stdout, (flags.logLevel ?? 'info') as LogLevel);
  const tooMuch = oversold(machine);
  if (tooMuch !== null) log.warn({}, tooMuch);
  const { address, cgroups, taskUser } = flags;
  const checkpoints = flags.checkpoints === undefined ? undefined : resolve(flags.checkpoints);
  const caFile = caFileOf(cli, flags);
  const otherServers = flags.server?.slice(1);
  const options = {
    ...machine,
    dir,
    log,
    otherServers,
    ports,
    userMap,
    address,
    caFile,
    cgroups,
    taskUser,
    checkpoints,
  };
  const stopped = untilStopped(cli, 'muster: stopping at once', ['SIGTERM']);
  let running: AgentHandle | null = null;
  process.on('SIGHUP', () => {
    running
      ?.recheck()
      .catch((error: unknown) => log.warn({ error: String(error) }, 'rechecking the inventory failed'));
  });
  const left = stopped.then((signal): never => {
    throw new CliFailure(`${signal} before the node was enrolled`, exit.interrupted);
  });
  // While the agent runs nobody waits for it.
  left.catch(() => {});
  let known = await Promise.race([left, enrolled(cli, flags, dir, log)]).catch(told);
  for (;;) {
    running = await runAgent({ ...options, server: known.server }).catch(told);
    log.info({ node: known.node, name: known.name, server: known.server }, 'the agent runs');
    const end = await Promise.race([stopped, running.done]);
    if (end !== 'removed') {
      log.info({ signal: end }, 'stopping; tasks go on under their supervisor');
      return running.stop();
    }
    known = await Promise.race([left, enrolledAgain(cli, flags, dir, known)]).catch(told);
    log.info({ node: known.node, name: known.name }, 'enrolled again, as a new node, with the new token');
  }
}

/** A start that fails the same way every time is not worth another one, and says so with its exit code; a server that is away is. */
function told(error: unknown): never {
  if (!(error instanceof OperationalError)) throw error;
  const code = wrongHere.has(error.code)
    ? exit.usage
    : error.code === 'unavailable'
      ? exit.unknown
      : exit.failed;
  throw new CliFailure(error.message, code, { cause: error });
}

/** A flag, a file, or what they name: the token and the name that the server does not take. */
const wrongHere: ReadonlySet<string> = new Set([
  'invalid-field',
  'unauthenticated',
  'already-exists',
  'bad-request',
  'not-found',
]);

async function enrolled(cli: Cli, flags: AgentFlags, dir: string, log: Logger): Promise<Identity> {
  const before = identityIn(dir);
  if (before) {
    if (flags.token !== undefined || flags.tokenFile !== undefined)
      log.info(
        { name: before.name },
        'this folder is enrolled already: the token is used only if its node was removed',
      );
    return { ...before, server: flags.server?.[0] ?? before.server };
  }
  const token = tokenOf(cli, flags);
  if (token === null)
    throw usage(
      'this machine is not enrolled yet: make a token with "muster nodes token" and give it with --token-file',
    );
  const server = flags.server?.[0];
  if (server === undefined) throw usage('--server is needed for the first start');
  await enrolAgent({ server, token, name: flags.name ?? nodeName(), dir, caFile: caFileOf(cli, flags) });
  return readIdentity(openStateDir(dir));
}

/**
 * A removed node's machine comes back with a new token and not with the one it has: a token for many machines, kept in
 * the unit file, would undo every removal.
 */
async function enrolledAgain(cli: Cli, flags: AgentFlags, dir: string, before: Identity): Promise<Identity> {
  const { server } = before;
  const name = flags.name ?? before.name;
  try {
    const token = tokenOf(cli, flags);
    if (token === null || tokenHash(token) === before.tokenHash)
      throw usage('there is no new enrolment token');
    await enrolAgent({ server, token, name, dir, caFile: caFileOf(cli, flags), again: true });
  } catch (error) {
    // A server that is away is another matter: trying again helps.
    const isTokens =
      error instanceof CliFailure || (error instanceof OperationalError && error.code === 'unauthenticated');
    if (!isTokens) throw error;
    throw new CliFailure(
      `an operator removed node ${before.name}, and ${error.message}; to bring this machine back, make a token with "muster nodes token" and start the agent with --token-file`,
      exit.removed,
      { cause: error },
    );
  }
  return { ...readIdentity(openStateDir(dir)), server };
}

/** Null when this folder has not enrolled; a damaged one is told. */
function identityIn(dir: string): Identity | null {
  try {
    return readIdentity(openStateDir(dir));
  } catch (error) {
    if (error instanceof OperationalError && error.code === 'not-found') return null;
    throw error;
  }
}

/** As for every other command. */
function caFileOf(cli: Cli, flags: AgentFlags): string | undefined {
  return flags.caFile ?? (cli.terminal.env.MUSTER_CA_FILE || undefined);
}

function tokenOf(cli: Cli, flags: AgentFlags): string | null {
  if (flags.tokenFile) return readTokenFile(flags.tokenFile);
  return flags.token ?? cli.terminal.env.MUSTER_ENROL_TOKEN ?? null;
}
