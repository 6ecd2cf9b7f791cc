// muster agent: enrols on the first start, then runs until told to stop. Tasks are the supervisor's and go on without it.
import { enrolAgent, openStateDir, readIdentity, runAgent } from '@muster/agent';
import { type Cli, readTokenFile, usage } from '@muster/cli';
import { OperationalError } from '@muster/model';
import { defaultDir } from '../directories.ts';
import { streamLog } from '../log.ts';
import type { LogLevel } from '../log-levels.ts';
import { machineOf, pairsOf, portsOf } from '../machine-flags.ts';
import { nodeName } from '../node-name.ts';
import { untilStopped } from '../stopping.ts';
import type { AgentFlags } from './agent-flags.ts';

export async function agent(cli: Cli, flags: AgentFlags): Promise<void> {
  const dir = flags.dir ?? defaultDir(cli.terminal.env, 'muster-agent');
  const machine = machineOf(flags);
  const ports = flags.ports === undefined ? undefined : portsOf(flags.ports);
  const userMap = flags.userMap === undefined ? undefined : pairsOf('--user-map', flags.userMap);
  const log = streamLog(cli.terminal.stdout, (flags.logLevel ?? 'info') as LogLevel);
  const known = await enrolled(cli, flags, dir);
  const { address, caFile, cgroups, taskUser } = flags;
  const running = await runAgent({
    server: known.server,
    otherServers: flags.server?.slice(1),
    dir,
    log,
    ...machine,
    ports,
    userMap,
    address,
    caFile,
    cgroups,
    taskUser,
  });
  log.info({ node: known.node, name: known.name, server: known.server }, 'the agent runs');
  process.on('SIGHUP', () => void running.recheck());
  const signal = await Promise.race([
    untilStopped(cli, 'muster: stopping at once'),
    running.done.then(() => 'done' as const),
  ]);
  log.info({ signal }, 'stopping; tasks go on under their supervisor');
  await running.stop();
}

async function enrolled(cli: Cli, flags: AgentFlags, dir: string) {
  const before = identityIn(dir);
  if (before) return { ...before, server: flags.server?.[0] ?? before.server };
  const token = tokenOf(cli, flags);
  const server = flags.server?.[0];
  if (server === undefined) throw usage('--server is needed for the first start');
  const name = flags.name ?? nodeName();
  const { node } = await enrolAgent({ server, token, name, dir, caFile: flags.caFile });
  return { node, name, server };
}

/** Null when this folder has not enrolled; a damaged one is told. */
function identityIn(dir: string) {
  try {
    return readIdentity(openStateDir(dir));
  } catch (error) {
    if (error instanceof OperationalError && error.code === 'not-found') return null;
    throw error;
  }
}

function tokenOf(cli: Cli, flags: AgentFlags): string {
  const token = flags.tokenFile
    ? readTokenFile(flags.tokenFile)
    : (flags.token ?? cli.terminal.env.MUSTER_ENROL_TOKEN);
  if (token) return token;
  throw usage(
    'this machine is not enrolled yet: make a token with "muster nodes token" and give it with --token-file',
  );
}
