// Runs the commands of Slurm: argument arrays, never a shell; a clean environment, so that neither the server's variables nor
// its locale reach a job or a parser; a deadline, because a paused controller answers nobody for a long time.
import { execFile } from 'node:child_process';
import { fewAtOnce } from '../few-at-once.ts';

export interface CommandSettings {
  /** SLURM_CONF and the like; a site's own. */
  readonly env: Readonly<Record<string, string>>;
  /** Put before every command, such as ['ssh', 'login-node']; none for commands of this machine. */
  readonly prefix: readonly string[];
  readonly timeoutMs: number;
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
/** Processes of sbatch and scancel. */
const changesAtOnce = 16;
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function slurmCommands({ env, prefix, timeoutMs }: CommandSettings): Commands {
  const options = {
    env: { PATH: defaultPath, LC_ALL: 'C', TZ: 'UTC0', ...env },
    timeout: timeoutMs,
    killSignal: 'SIGKILL' as const,
    maxBuffer: maxOutputBytes,
  };
  const run: Commands = (program, args, input) =>
    new Promise((resolve, reject) => {
      const [first = program, ...rest] = [...prefix, program, ...args];
      const child = execFile(first, rest, options, (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        // A code is a number when it exited; no program, no memory and a kill at the deadline have other words.
        const exited = typeof error.code === 'number' && !error.killed;
        reject(
          new CommandError(
            exited ? 'exited' : 'unanswered',
            program,
            exited ? stderr : String(error.message),
          ),
        );
      });
      // It may end without reading everything.
      child.stdin?.on('error', () => {});
      child.stdin?.end(input ?? '');
    });
  const changes = fewAtOnce(changesAtOnce);
  // A look waits for nobody: while it waits nodes are not renewed.
  return (program, ...rest) =>
    program === 'sbatch' || program === 'scancel'
      ? changes(() => run(program, ...rest))
      : run(program, ...rest);
}
