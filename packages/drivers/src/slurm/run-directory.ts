// A run's directory, which every node of the cluster sees: what the script needs, and what it leaves as evidence.
//   run.json       where its tasks are to be; written before the submit, so that whoever looks knows what was meant
//   steps, task-R  what the script and its steps read
//   claim/         made once: by the script that runs, or by a stop that came first
//   claim/job, claim/started-R, claim/exit-R, claim/asked, claim/stopping, output-R: told by the script
//   status-R/      for the task's own word of saved work (status-files.ts)
//   stop           the stop that was asked for: signal and grace, and the signal and the wait of an asking before it
// A run of which all is known is moved to over/: a script that comes late finds no directory to claim in, and a submit that comes
// late finds it there. Beside them epoch/N are the epochs that commands came with; the highest counts.
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunId, type RunId, type StopCommand } from '@muster/model';
import * as z from 'zod';

const plan = z.strictObject({
  tasks: z.array(z.strictObject({ rank: z.int().min(0), node: z.string() })),
});
const stopFacts = z.strictObject({
  class: z.enum(['cancelled', 'preemption', 'infrastructure', 'timeout']),
  reason: z.string(),
  /** Of the exit of a run that the stop kept from beginning. */
  code: z.string().default('stopped'),
});
export type StopFacts = z.infer<typeof stopFacts>;

export interface RunFiles {
  readonly tasks: readonly { readonly rank: number; readonly node: string }[];
  /** One line a task, as the script reads them. */
  readonly steps: string;
  /** What becomes each task's process, by rank. */
  readonly words: ReadonlyMap<number, readonly string[]>;
}

export interface StepExit {
  readonly code: number | null;
  readonly stopped: boolean;
}

/** What is known of a run without asking Slurm. */
export interface Evidence {
  readonly tasks: RunFiles['tasks'];
  /** Null while nobody claimed the key; a stop that claimed it has no job. */
  readonly claim: { readonly job: number | null } | null;
  readonly started: ReadonlySet<number>;
  /** The code that srun gave, null when it gave none for the task, and whether the stop's signal had been sent. */
  readonly exits: ReadonlyMap<number, StepExit>;
  readonly stop: StopFacts | null;
}

/** What a task wrote of its saved work, and when, by the file system's clock. */
export interface StatusText {
  /** Another one for other content. */
  readonly stamp: string;
  readonly text: string;
  readonly writtenMs: number;
}

export interface RunDirectories {
  readonly of: (run: RunId) => string;
  /** Runs of which not everything is known. */
  open(): Promise<RunId[]>;
  isOver(run: RunId): Promise<boolean>;
  /** False when it is there already: somebody has or had this run in hand. */
  prepare(run: RunId, files: RunFiles): Promise<boolean>;
  /** Null when there is no such run, or what it meant was never wholly written. */
  evidence(run: RunId): Promise<Evidence | null>;
  /** Whether this claimed the key, or the run is over: then nothing runs, and nothing will. */
  stop(run: RunId, command: StopCommand, code?: string): Promise<boolean>;
  forget(run: RunId): Promise<void>;
  readOutput(run: RunId, rank: number, offset: number, maxBytes: number): Promise<OutputPiece>;
  /** Null when there is none, or it is no plain file of a fair size; `before` again when nothing changed. */
  readStatus(run: RunId, rank: number, before: StatusText | null): Promise<StatusText | null>;
  /** The clock of the file system: it need not be this machine's. */
  nowMs(): Promise<number>;
  /** False when a command with a higher epoch came before. */
  admit(epoch: number): Promise<boolean>;
  /** Removes runs that have been over for so long, with their output, and epochs that count no more. */
  tidy(keepMs: number): Promise<void>;
}

export interface OutputPiece {
  readonly data: Uint8Array;
  readonly size: number;
}

/** On a directory that this machine sees too. */
export function localRunDirectories(shared: string): RunDirectories {
  const of = (run: RunId): string => join(shared, 'runs', run);
  const over = (run: RunId): string => join(shared, 'over', run);
  let made: Promise<unknown> | null = null;
  let marks = 0;
  const make = (): Promise<unknown> => {
    made ??= Promise.all(
      ['runs', 'over', 'epoch'].map((name) => mkdir(join(shared, name), { recursive: true, mode: 0o700 })),
    );
    return made;
  };

  /** By a file of now. */
  async function nowMs(): Promise<number> {
    const mark = join(shared, `now-${process.pid}-${++marks}`);
    await writeFile(mark, '', { mode: 0o600 });
    const { mtimeMs } = await stat(mark);
    await rm(mark);
    return mtimeMs;
  }

  return {
    of,
    async open() {
      await make();
      return (await readdir(join(shared, 'runs'))).filter(isRunId);
    },
    isOver: (run) => exists(over(run)),
    async prepare(run, { tasks, steps, words }) {
      await make();
      const dir = of(run);
      const fresh = await madeNew(dir);
      // Written by whoever came first; a script may be reading it.
      if (!fresh && (await textOf(join(dir, 'run.json'))) !== null) return false;
      const mode = { mode: 0o600 };
      await writeFile(join(dir, 'steps'), steps, mode);
      for (const [rank, list] of words)
        await writeFile(join(dir, `task-${rank}`), list.map((word) => `${word}\0`).join(''), mode);
      await writeWhole(join(dir, 'run.json'), JSON.stringify({ tasks }));
      return fresh;
    },
    async evidence(run) {
      const dir = (await exists(of(run))) ? of(run) : over(run);
      const meant = await textOf(join(dir, 'run.json'));
      const stop = await stopOf(dir);
      if (meant === null) return stop === null ? null : { ...nothing, claim: { job: null }, stop };
      const { tasks } = plan.parse(JSON.parse(meant));
      const names = await namesIn(join(dir, 'claim'));
      if (names === null) return { ...nothing, tasks, stop };
      const job = await textOf(join(dir, 'claim', 'job'));
      const exits = new Map<number, StepExit>();
      for (const rank of ranksOf(names, 'exit-')) {
        const [, code, word] =
          /^(\d{1,3}|lost) (yes|no)\n$/.exec(await text(join(dir, 'claim', `exit-${rank}`))) ?? [];
        if (code !== undefined)
          exits.set(rank, { code: code === 'lost' ? null : Number(code), stopped: word === 'yes' });
      }
      const id = job === null || !/^\d{1,10}\n$/.test(job) ? null : Number(job);
      return { tasks, claim: { job: id }, started: new Set(ranksOf(names, 'started-')), exits, stop };
    },
    async stop(run, { class: errorClass, reason, signal, graceMs, ask }, code) {
      await make();
      if (await exists(over(run))) return true;
      const dir = of(run);
      await madeNew(dir);
      await writeWhole(join(dir, 'stop.json'), JSON.stringify({ class: errorClass, reason, code }));
      const first = ask ? `${ask.signal} ${ask.waitMs / 1000}` : '- 0';
      await writeWhole(join(dir, 'stop'), `${signal} ${Math.max(graceMs, 0) / 1000} ${first}\n`);
      // The stop lies there before the claim is tried: a script that claimed first reads it or is told of it.
      return madeNew(join(dir, 'claim'));
    },
    async forget(run) {
      await make();
      await rename(of(run), over(run)).catch(unlessMissing);
    },
    async readOutput(run, rank, offset, maxBytes) {
      const dir = (await exists(of(run))) ? of(run) : over(run);
      const file = await open(join(dir, `output-${rank}`)).catch(unlessMissing);
      if (!file) return { data: new Uint8Array(), size: 0 };
      try {
        const { size } = await file.stat();
        const data = new Uint8Array(Math.max(0, Math.min(maxBytes, size - offset)));
        const { bytesRead } = await file.read(data, 0, data.length, offset);
        return { data: data.subarray(0, bytesRead), size };
      } finally {
        await file.close();
      }
    },
    async readStatus(run, rank, before) {
      const dir = (await exists(of(run))) ? of(run) : over(run);
      return statusIn(join(dir, `status-${rank}`, 'status.json'), before);
    },
    nowMs: () => make().then(nowMs),
    async admit(epoch) {
      await make();
      const dir = join(shared, 'epoch');
      const seen = (await readdir(dir)).map(Number);
      if (seen.some((other) => other > epoch)) return false;
      if (!seen.includes(epoch)) await madeNew(join(dir, String(epoch)));
      return true;
    },
    async tidy(keepMs) {
      await make();
      const now = await nowMs();
      for (const name of (await readdir(join(shared, 'over'))).filter(isRunId)) {
        const seen = await stat(over(name)).catch(unlessMissing);
        // Moved there is a change of the directory's entry, not of its content.
        if (seen && now - Math.max(seen.ctimeMs, seen.mtimeMs) > keepMs)
          await rm(over(name), { recursive: true, force: true });
      }
      const epochs = (await readdir(join(shared, 'epoch'))).map(Number);
      for (const epoch of epochs.filter((one) => one < Math.max(...epochs)))
        await rm(join(shared, 'epoch', String(epoch)), { recursive: true, force: true });
    },
  };
}

const statusBytesMax = 4096;

async function statusIn(file: string, before: StatusText | null): Promise<StatusText | null> {
  const found = await lstat(file).catch(unlessMissing);
  if (!found?.isFile() || found.size > statusBytesMax) return null;
  const stamp = `${found.ino} ${found.mtimeMs} ${found.size}`;
  if (before?.stamp === stamp) return before;
  // Never through a link and without waiting: it is the task's, and may be something else by now.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const opened = await open(file, flags).catch(() => null);
  if (!opened) return before;
  try {
    const buffer = Buffer.alloc(statusBytesMax);
    const { bytesRead } = await opened.read(buffer, 0, statusBytesMax, 0);
    return { stamp, text: buffer.toString('utf8', 0, bytesRead), writtenMs: found.mtimeMs };
  } finally {
    await opened.close();
  }
}

const nothing = { tasks: [], claim: null, started: new Set<number>(), exits: new Map(), stop: null };

async function stopOf(dir: string): Promise<StopFacts | null> {
  const content = await textOf(join(dir, 'stop.json'));
  return content === null ? null : stopFacts.parse(JSON.parse(content));
}

function ranksOf(names: readonly string[], prefix: string): number[] {
  return names
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)));
}

/** Readers see the old content or the new, never a part. */
async function writeWhole(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

async function madeNew(dir: string): Promise<boolean> {
  try {
    await mkdir(dir, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await namesIn(path)) !== null;
}

async function namesIn(dir: string): Promise<string[] | null> {
  return (await readdir(dir).catch(unlessMissing)) ?? null;
}

function text(file: string): Promise<string> {
  return readFile(file, 'utf8');
}

async function textOf(file: string): Promise<string | null> {
  return (await text(file).catch(unlessMissing)) ?? null;
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
