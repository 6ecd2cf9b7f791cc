// The chain of programs that turns into the task: each step replaces itself by the next (exec), so that in the end the
// task has the pid that was started, and no helper process stays.
//
// As root:  sh (joins the control groups) -> setpriv (becomes the user, asks to die with the supervisor)
//           -> sh (sets the environment, enters the working directory, as the user) -> the command.
// The steps that run as root see none of the user's environment: LD_PRELOAD there would be root for everybody. The
// environment travels as a script on stdin and not as arguments, because arguments are for all to see in /proc. The
// working directory is entered by the user, because root may enter what the user may not and, on a network file
// system, the other way round.
// Otherwise: [sh (joins)] -> setpriv (dies with the supervisor) -> the command, with the task's environment throughout.
import { existsSync } from 'node:fs';
import type { TaskSpec } from './protocol.ts';

export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** What the last shell reads; null: no input at all. */
  readonly script: string | null;
  /** Only where setpriv is missing: supplementary groups are lost this way. */
  readonly ids: { readonly uid: number; readonly gid: number } | null;
}

const joinScript =
  'm=$1; shift; while [ "$1" != -- ]; do echo 0 > "$1" || { echo "$1" > "$m"; exit 125; }; shift; done; shift; exec "$@"';
// The supervisor is protected from the out-of-memory killer; what it starts must not be.
const joinAsRootScript = `echo 0 > /proc/self/oom_score_adj; ${joinScript}`;

const cleanPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** A shell refuses to have these set, and stops. */
const shellOwned = new Set(['UID', 'EUID', 'PPID', 'GROUPS', 'SHELLOPTS', 'BASHOPTS', 'BASH_VERSINFO']);

export const setprivPath: string | null = ['/usr/bin/setpriv', '/bin/setpriv'].find(existsSync) ?? null;

/** `failureFile` is written when a control group cannot be joined, to tell that from the command's own exit code. */
export function planLaunch(
  spec: TaskSpec,
  joinFiles: readonly string[],
  failureFile: string,
  setpriv: string | null = setprivPath,
): Launch {
  return spec.user
    ? asUser(spec, spec.user, joinFiles, failureFile, setpriv)
    : asOurselves(spec, joinFiles, failureFile, setpriv);
}

function asOurselves(
  spec: TaskSpec,
  joinFiles: readonly string[],
  failureFile: string,
  setpriv: string | null,
): Launch {
  const bound = setpriv ? [setpriv, '--pdeathsig', 'KILL', '--', ...spec.command] : [...spec.command];
  const chain = joinFiles.length > 0 ? joining(joinScript, joinFiles, failureFile, bound) : bound;
  const [file = '', ...args] = chain;
  return { file, args, env: spec.env, cwd: spec.workdir ?? spec.scratch, script: null, ids: null };
}

function asUser(
  spec: TaskSpec,
  user: { readonly uid: number; readonly gid: number },
  joinFiles: readonly string[],
  failureFile: string,
  setpriv: string | null,
): Launch {
  const last = ['/bin/sh', '-s', '--', ...spec.command];
  const become = setpriv
    ? [
        setpriv,
        `--reuid=${user.uid}`,
        `--regid=${user.gid}`,
        '--init-groups',
        '--pdeathsig',
        'KILL',
        '--',
        ...last,
      ]
    : last;
  const chain = setpriv ? joining(joinAsRootScript, joinFiles, failureFile, become) : become;
  const [file = '', ...args] = chain;
  return {
    file,
    args,
    env: { PATH: cleanPath, MUSTER_TASK_KEY: spec.env.MUSTER_TASK_KEY ?? '' },
    cwd: '/',
    script: lastScript(spec),
    ids: setpriv ? null : { uid: user.uid, gid: user.gid },
  };
}

function joining(
  script: string,
  joinFiles: readonly string[],
  failureFile: string,
  next: readonly string[],
): string[] {
  return ['/bin/sh', '-c', script, 'muster', failureFile, ...joinFiles, '--', ...next];
}

function lastScript(spec: TaskSpec): string {
  const exports = Object.entries(spec.env)
    .filter(([name]) => !shellOwned.has(name))
    .map(([name, value]) => `export ${name}=${quote(value)}`);
  return [
    // Whoever asks to die with a parent that has died just before lives for ever.
    `[ "$PPID" = ${process.pid} ] || exit 125`,
    // The directory before the variables: `cd` would also look in a CDPATH of the user's, and set some of its own.
    `cd -- ${quote(spec.workdir ?? spec.scratch)} || exit 126`,
    'unset OLDPWD',
    ...exports,
    'exec "$@" </dev/null\n',
  ].join('\n');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
