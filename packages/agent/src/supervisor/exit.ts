// Turns how a process ended into the exit that is reported: a class for the retry rule, and a sentence for people.
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { TaskExit } from '@muster/model';
import type { StopRequest, TaskSpec } from './protocol.ts';

export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  /** The stop whose signal was sent before the end; null when the task ended by itself. */
  readonly stop: StopRequest | null;
  readonly oomKilled: boolean;
  /** The control group that could not be joined. */
  readonly launchFailure: string | null;
}

export function exitOf(ending: Ending, spec: TaskSpec): TaskExit {
  const { code, signal, stop } = ending;
  if (stop) return { ok: false, class: stop.class, code, signal, reason: stop.reason };
  if (ending.launchFailure !== null) {
    const message = `the task's control group could not be joined: ${ending.launchFailure}`;
    return infrastructure('launch-failed', message);
  }
  if (code === 0) return { ok: true };
  if (ending.oomKilled) {
    const message = `ran out of memory (limit ${spec.words.memory})`;
    return { ok: false, class: 'out-of-memory', code, signal, reason: { code: 'out-of-memory', message } };
  }
  if (signal !== null)
    return {
      ok: false,
      class: 'user',
      code: null,
      signal,
      reason: { code: 'signal', message: `killed by ${signal}` },
    };
  const unable = code === 126 || code === 127 ? whyNotStarted(spec) : null;
  if (unable) return unable;
  const reason = { code: 'exit-code', message: `exited with code ${code}` };
  return { ok: false, class: 'user', code, signal: null, reason };
}

/** When not even the first program of the chain could be started. */
export function exitOfSpawnError(error: NodeJS.ErrnoException, spec: TaskSpec): TaskExit {
  if (error.code === 'E2BIG')
    return unable(126, 'command-too-long', 'the command and its environment are too long for this system');
  if (!['ENOENT', 'ENOTDIR', 'EACCES', 'ENOEXEC', 'EPERM'].includes(error.code ?? ''))
    return infrastructure('start-failed', `the process could not be started: ${error.message}`);
  const what = `${named(spec.command[0])} could not be started: ${error.message}`;
  return whyNotStarted(spec) ?? unable(126, 'cannot-start', what);
}

/** Codes as a shell has them: 127 for what is not there, 126 for what cannot be used. */
function unable(exitCode: 126 | 127, code: string, message: string): TaskExit {
  return { ok: false, class: 'user', code: exitCode, signal: null, reason: { code, message } };
}

/** Stopped before there was a process. */
export function exitUnstarted({ class: errorClass, reason }: StopRequest): TaskExit {
  return { ok: false, class: errorClass, code: null, signal: null, reason };
}

export function infrastructure(code: string, message: string): TaskExit {
  return { ok: false, class: 'infrastructure', code: null, signal: null, reason: { code, message } };
}

/** Null when nothing is wrong with the command's file or directory: then the code is the command's own. */
function whyNotStarted(spec: TaskSpec): TaskExit | null {
  const who = spec.user ? ` for user ${spec.user.name}` : '';
  const dir = spec.workdir;
  const kind = dir === null ? 'directory' : kindOf(dir);
  if (kind === null)
    return unable(126, 'no-workdir', `the working directory ${named(dir)} does not exist on this node`);
  if (kind === 'file') return unable(126, 'no-workdir', `${named(dir)} is not a directory`);
  if (dir !== null && !mayUse(dir, spec))
    return unable(126, 'no-workdir', `the working directory ${named(dir)} cannot be entered${who}`);
  const program = spec.command[0] ?? '';
  const path = findProgram(program, spec);
  if (path === null) {
    const where = program.includes('/') ? 'on this node' : `in the PATH${who}`;
    return unable(127, 'no-program', `there is no program ${named(program)} ${where}`);
  }
  if (kindOf(path) === 'file' && mayUse(path, spec)) return null;
  return unable(126, 'no-program', `${named(path)} cannot be executed${who}`);
}

function findProgram(program: string, spec: TaskSpec): string | null {
  const cwd = spec.workdir ?? spec.scratch;
  if (program.includes('/')) {
    const path = isAbsolute(program) ? program : join(cwd, program);
    return kindOf(path) === null ? null : path;
  }
  for (const dir of (spec.env.PATH ?? '').split(':')) {
    const path = join(isAbsolute(dir) ? dir : join(cwd, dir), program);
    if (kindOf(path) === 'file') return path;
  }
  return null;
}

/** Null only when it is proven missing: what we may not see may well be there. */
function kindOf(path: string): 'file' | 'directory' | 'unseen' | null {
  try {
    return statSync(path).isDirectory() ? 'directory' : 'file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : 'unseen';
  }
}

/** By the mode bits of the path and the folders above it: enough for the sentence, which decides nothing. */
function mayUse(path: string, spec: TaskSpec): boolean {
  const above = dirname(path);
  return mayUseHere(path, spec) && (above === path || !spec.user || mayUse(above, spec));
}

function mayUseHere(path: string, { user }: TaskSpec): boolean {
  try {
    if (!user) {
      accessSync(path, constants.X_OK);
      return true;
    }
    const { mode, uid, gid } = statSync(path);
    const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
    return user.uid === 0 || ((mode >> shift) & 1) === 1;
  } catch {
    return false;
  }
}

function named(path: string | null | undefined): string {
  const text = path ?? '';
  return `"${text.length <= 200 ? text : `${text.slice(0, 199)}…`}"`;
}
