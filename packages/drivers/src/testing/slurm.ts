// A real Slurm on loopback for one test file: munged with a key and a socket of its own, one slurmctld, four slurmd with
// declared GPUs. Everything lies in one temporary directory and is ended by id, also when the test run is interrupted.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { clusterDirectory } from './cluster-directory.ts';
import { lackingPrograms, systemPath } from './components.ts';
import { type Daemon, StartedDaemon } from './daemon.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { endProcessesOf } from './leftovers.ts';
import { accountingPrograms, type TestAccounting, writeAccounting } from './slurm-accounting.ts';

const run = promisify(execFile);
const programs = ['munged', 'slurmctld', 'slurmd', 'sbatch', 'srun', 'mknod'];

export interface TestSlurm {
  readonly dir: string;
  /** What a command of Slurm needs to find this one. */
  readonly env: Readonly<Record<string, string>>;
  /** Names of its nodes: two below each of two leaf switches. */
  readonly nodes: readonly string[];
  /** A directory that every node sees; `muster` in it is one for Muster. */
  readonly shared: string;
  readonly controller: Daemon;
  readonly slurmd: ReadonlyMap<string, Daemon>;
  readonly accounting: TestAccounting | null;
  /** Changes what its configuration files say; daemons read them when they are started or told to. */
  reword(change: (text: string) => string): void;
  /** A slurmd for a node that the configuration names by now. */
  startSlurmd(name: string): void;
  /** Runs a command of Slurm and gives what it printed. */
  command(program: string, ...args: string[]): Promise<string>;
  /** The controller answers and every node has registered; nodes that Slurm drained by itself take work again. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

export interface SlurmOptions {
  /** With slurmdbd and a MariaDB of its own, and a controller that forgets ended jobs within a minute or two. */
  readonly accounting?: boolean;
  /** What each node is said to have; it is believed, whatever this machine has. */
  readonly cpus?: number;
  readonly memoryMib?: number;
  /** It takes jobs at once, and looks for what it can start only so often; else it starts them as they come. */
  readonly startsEveryS?: number;
}

/** Why no Slurm can be started here, and what to do about it; null when one can. */
export function slurmMissing({ accounting = false }: SlurmOptions = {}): string | null {
  const lacking = lackingPrograms([...programs, ...(accounting ? accountingPrograms : [])]);
  if (lacking.length > 0)
    return `not run on a real Slurm: ${lacking.join(', ')} missing; scripts/install-components gets them`;
  return process.getuid?.() === 0 ? null : 'not run on a real Slurm: only root can start its daemons';
}

export async function startSlurm(options: SlurmOptions = {}): Promise<TestSlurm> {
  const home = await clusterDirectory('slurm');
  const { dir } = home;
  const nodes = ['n1', 'n2', 'n3', 'n4'];
  const env = { PATH: systemPath, SLURM_CONF: join(dir, 'slurm.conf') };
  const accounting = options.accounting ? await writeAccounting(dir) : null;
  await writeConfiguration(dir, nodes, accounting?.lines ?? withoutAccounting, options);
  const daemons: StartedDaemon[] = [];
  const daemon = (name: string, program: string, ...args: string[]): StartedDaemon => {
    const one = new StartedDaemon(name, program, args, env, dir);
    daemons.push(one);
    return one;
  };
  const atExit = (): void => {
    for (const one of daemons) one.signal('SIGKILL');
    endProcessesOf(dir);
  };
  process.once('exit', atExit);
  const munge = join(dir, 'munge');
  const files = ['key', 'socket', 'pid', 'log', 'seed'].map((name) =>
    name === 'socket' ? `--socket=${munge}/socket` : `--${name}-file=${munge}/${name}`,
  );
  daemon('munged', 'munged', '-F', '--num-threads=2', ...files);
  const accountants = accounting?.daemons(daemon) ?? null;
  const controller = daemon('slurmctld', 'slurmctld', '-D');
  const slurmd = new Map(nodes.map((name) => [name, daemon(`slurmd-${name}`, 'slurmd', '-D', '-N', name)]));
  const command = async (program: string, ...args: string[]): Promise<string> =>
    (await run(program, args, { env })).stdout;
  const slurm: TestSlurm = {
    dir,
    env,
    nodes,
    shared: join(dir, 'shared'),
    controller,
    slurmd,
    accounting: accountants,
    reword(change) {
      for (const name of ['slurm.conf', 'gres.conf', 'topology.conf'])
        writeFileSync(join(dir, name), change(readFileSync(join(dir, name), 'utf8')));
    },
    startSlurmd(name) {
      mkdirSync(join(dir, `spool-${name}`), { recursive: true });
      daemon(`slurmd-${name}`, 'slurmd', '-D', '-N', name).start();
    },
    command,
    ready: () =>
      eventually(`Slurm is ready (logs in ${dir})`, 60_000, async () => {
        const lines = (await command('sinfo', '--noheader', '--Node', '--format=%N %T')).trim().split('\n');
        // A node is listed once for each of its partitions.
        const states = [...new Map(lines.map((line) => line.split(' ') as [string, string]))];
        // A controller that was killed may find a job twice, and drains the node.
        for (const [name] of states.filter(([, state]) => /^drain/.test(state)))
          await command('scontrol', 'update', `nodename=${name}`, 'state=resume');
        return (
          states.length === nodes.length &&
          states.every(([, state]) => /^(idle|mixed|allocated)$/.test(state))
        );
      }).then(() => {}),
    async stop() {
      process.removeListener('exit', atExit);
      for (const one of daemons.reverse()) await one.end('SIGKILL');
      endProcessesOf(dir);
      home.remove();
    },
  };
  try {
    daemons[0]?.start();
    await eventually('munged answers', 20_000, () =>
      run('munge', ['--no-input', `--socket=${munge}/socket`], { env }),
    );
    await accountants?.start(command);
    for (const one of [controller, ...slurmd.values()]) one.start();
    await slurm.ready();
    return slurm;
  } catch (error) {
    await slurm.stop();
    throw error;
  }
}

const withoutAccounting = ['AccountingStorageType=accounting_storage/none'];

async function writeConfiguration(
  dir: string,
  nodes: readonly string[],
  accounting: readonly string[],
  { cpus = 8, memoryMib = 4000, startsEveryS }: SlurmOptions,
): Promise<void> {
  for (const name of ['state', 'munge', 'shared', 'shared/muster', ...nodes.map((node) => `spool-${node}`)])
    mkdirSync(join(dir, name), { mode: 0o755 });
  writeFileSync(join(dir, 'munge', 'key'), randomBytes(128), { mode: 0o400 });
  // Devices that anybody may open: four times the null device.
  for (const index of [0, 1, 2, 3]) await run('mknod', [join(dir, `gpu${index}`), 'c', '1', '3']);
  const ports: number[] = [];
  while (ports.length <= nodes.length) ports.push(await freePort());
  const host = hostname().split('.')[0];
  const nodeLines = nodes.map((name, i) => {
    const where = `NodeHostname=${host} NodeAddr=127.0.0.1 Port=${ports[i + 1]}`;
    const has = `CPUs=${cpus} RealMemory=${memoryMib} Gres=gpu:h100:4 Feature=ib,rack${i < 2 ? 1 : 2}`;
    return `NodeName=${name} ${where} ${has} State=UNKNOWN`;
  });
  const lines = [
    'ClusterName=muster',
    `SlurmctldHost=${host}(127.0.0.1)`,
    `SlurmctldPort=${ports[0]}`,
    'AuthType=auth/munge',
    `AuthInfo=socket=${dir}/munge/socket`,
    'CredType=cred/munge',
    'SlurmUser=root',
    `StateSaveLocation=${dir}/state`,
    `SlurmdSpoolDir=${dir}/spool-%n`,
    `SlurmctldPidFile=${dir}/slurmctld.pid`,
    `SlurmdPidFile=${dir}/slurmd-%n.pid`,
    `SlurmctldLogFile=${dir}/slurmctld.log`,
    `SlurmdLogFile=${dir}/slurmd-%n.log`,
    'ProctrackType=proctrack/pgid',
    'TaskPlugin=task/none',
    'JobAcctGatherType=jobacct_gather/none',
    'AccountingStoreFlags=job_comment',
    ...accounting,
    'SelectType=select/cons_tres',
    'SelectTypeParameters=CR_Core_Memory',
    'TopologyPlugin=topology/tree',
    'GresTypes=gpu',
    'MpiDefault=none',
    'ReturnToService=2',
    'KillWait=2',
    'SlurmdTimeout=15',
    // Heterogeneous jobs are started by backfill alone, which else looks every 30 s.
    startsEveryS === undefined
      ? 'SchedulerParameters=bf_interval=1'
      : `SchedulerParameters=defer,sched_interval=${startsEveryS},bf_interval=${startsEveryS}`,
    // Declared hardware is believed, whatever this machine has.
    'SlurmdParameters=config_overrides',
    ...nodeLines,
    `PartitionName=main Nodes=${nodes.join(',')} Default=YES MaxTime=INFINITE State=UP`,
  ];
  writeFileSync(join(dir, 'slurm.conf'), `${lines.join('\n')}\n`);
  writeFileSync(
    join(dir, 'gres.conf'),
    `NodeName=${nodes.join(',')} Name=gpu Type=h100 File=${dir}/gpu[0-3]\n`,
  );
  writeFileSync(join(dir, 'cgroup.conf'), 'CgroupAutomount=no\n');
  const leaves = ['SwitchName=leaf1 Nodes=n1,n2', 'SwitchName=leaf2 Nodes=n3,n4'];
  writeFileSync(join(dir, 'topology.conf'), `${leaves.join('\n')}\nSwitchName=spine Switches=leaf1,leaf2\n`);
}
