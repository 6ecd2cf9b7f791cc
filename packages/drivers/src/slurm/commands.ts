// Runs the commands of Slurm, here or on a login node (ssh.ts): argument arrays, never a shell of ours; a clean environment, so that
// neither the server's variables nor its locale reach a job or a parser; a deadline, because a paused controller answers nobody for
// a long time.
import { fewAtOnce } from '../few-at-once.ts';
import { runProgram } from '../programs/programs.ts';
import type { RemoteBash } from './remote-files.ts';
import { type SshLines, sshLost } from './ssh.ts';

export interface CommandSettings {
  /** SLURM_CONF and the like; a site's own. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Where commands run on another machine. */
  readonly over?: SshLines;
}

/** `exited`: it ran and said no. `unanswered`: nothing is known, the request may be carried out later. */
export class CommandError extends Error {
  readonly kind: 'exited' | 'unanswered';
  /** What it printed on its error stream. */
  readonly said: string;

  constructor(kind: 'exited' | 'unanswered', program: string, said: string) {
    super(`${program}: ${said.trim() || kind}`);
    this.kind = kind;
    this.said = said;
  }
}

export type Commands = (program: string, args: readonly string[], input?: string) => Promise<string>;

/** 100,000 jobs are about 400 MB of JSON; what is longer is refused rather than read. */
const maxOutputBytes = 512 * 1024 * 1024;
/** Processes of sbatch and scancel; a server for ssh takes ten commands at a time on a connection, and looks need some of them. */
const changesAtOnce = { here: 16, over: 4 };
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function slurmCommands({ env, timeoutMs, over }: CommandSettings): Commands {
  const clean = { PATH: defaultPath, LC_ALL: 'C', TZ: 'UTC0', ...env };
  const run: Commands = (program, args, input) => {
    if (!over) return execute({ program, args, env: clean, timeoutMs, input });
    return execute({ ...over([program, ...args], clean), env: { PATH: defaultPath }, timeoutMs, input });
  };
  const changes = fewAtOnce(over ? changesAtOnce.over : changesAtOnce.here);
  // A look waits for nobody: while it waits nodes are not renewed.
  return (program, ...rest) =>
    program === 'sbatch' || program === 'scancel'
      ? changes(() => run(program, ...rest))
      : run(program, ...rest);
}

/** Scripts of ours on the machine that commands run on. */
export function bashOver(over: SshLines, timeoutMs: number): RemoteBash {
  const clean = { PATH: defaultPath, LC_ALL: 'C' };
  return (script, input) =>
    execute({ ...over(['bash', '-c', script], clean), env: { PATH: defaultPath }, timeoutMs, input });
}

interface Execution {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly input?: string | undefined;
}

async function execute({ program, args, env, timeoutMs, input }: Execution): Promise<string> {
  const asked = { program, args, env, timeoutMs, input: input ?? '', maxOutputBytes };
  const { end, printed, said } = await runProgram(asked);
  if (end.kind === 'killed') throw new CommandError('unanswered', program, end.message);
  if (end.code === 0) return printed;
  throw new CommandError(isLost(program, end.code) ? 'unanswered' : 'exited', program, said);
}

const isLost = (program: string, code: number): boolean => program === 'ssh' && code === sshLost;
