// A run's directory, which every node of the cluster sees: what the script needs, and what it leaves as evidence.
//   run.json       where its tasks are to be; written before the submit, so that whoever looks knows what was meant
//   steps, task-R  what the script and its steps read
//   claim/         made once: by the script that runs, or by a stop that came first
//   claim/cancelled  what is asleep in Slurm is ended by Slurm, because it is to stop
//   output-limit   of each task, in bytes; empty where nothing limits it
//   claim/dropped-R  from where to where the script dropped of its output
//   claim/job, claim/started-R, claim/exit-R, claim/asked, claim/stopping, output-R: told by the script
//   status-R/      for the task's own word of saved work (status-files.ts)
//   refused        with what words Slurm did not take it
//   stop           the stop that was asked for: signal and grace, and the signal and the wait of an asking before it
// A run of which all is known is moved to over/: a script that comes late finds no directory to claim in, and a submit that comes
// late finds it there. Beside them epoch/N are the epochs that commands came with; the highest counts. `owner` says whose all of this is
// (owner.ts); in a directory of another's nothing is read or written.
import { join } from 'node:path';
import { isRunId, type RunId, type StopCommand } from '@muster/model';
import * as z from 'zod';
import { checkClaim, type Ownership, othersPlace, ownerSchema } from '../owner.ts';
import { localFiles, type OutputPiece, type SharedFiles, type StampedText } from './shared-files.ts';

const plan = z.strictObject({
  tasks: z.array(
    z.strictObject({
      rank: z.int().min(0),
      node: z.string(),
      /** As the plan counted them. */
      devices: z.array(z.int().min(0)),
    }),
  ),
});
const stopFacts = z.strictObject({
  class: z.enum(['cancelled', 'preemption', 'infrastructure', 'timeout']),
  reason: z.string(),
  /** Of the exit of a run that the stop kept from beginning. */
  code: z.string().default('stopped'),
});
export type StopFacts = z.infer<typeof stopFacts>;

export interface RunFiles {
  readonly tasks: readonly {
    readonly rank: number;
    readonly node: string;
    readonly devices: readonly number[];
  }[];
  /** One line a task, as the script reads them. */
  readonly steps: string;
  /** How much of the output of a task is kept; 0 for all of it. */
  readonly outputLimitMib: number;
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
  /** The script knows of the stop. */
  readonly heard: boolean;
  /** Slurm ran the job that has the key a second time, which found it claimed and did nothing. */
  readonly again: boolean;
}

/** What a task wrote of its saved work, and when, by the file system's clock. */
export type StatusText = StampedText;

export interface RunDirectories {
  readonly of: (run: RunId) => string;
  /** Rejects where the directory is another's; asked again and again, because it can be emptied and given away under us. */
  checkOwner(): Promise<void>;
  /** Runs of which not everything is known. */
  open(): Promise<RunId[]>;
  isOver(run: RunId): Promise<boolean>;
  /** False when it is there already: somebody has or had this run in hand. */
  prepare(run: RunId, files: RunFiles): Promise<boolean>;
  /** Null when there is no such run, or what it meant was never wholly written. */
  evidence(run: RunId): Promise<Evidence | null>;
  /** Whether this claimed the key, or the run is over: then nothing runs, and nothing will. */
  stop(run: RunId, command: StopCommand, code?: string): Promise<boolean>;
  /** Slurm is asked to end the job of a stop: exits from here on are those of the stop. */
  noteCancel(run: RunId): Promise<void>;
  forget(run: RunId): Promise<void>;
  /** Slurm took no job of it and will take none: over, with its words. */
  refuse(run: RunId, detail: string): Promise<void>;
  /** With what words a run that is over was refused; null for one that was not. */
  refusal(run: RunId): Promise<string | null>;
  /** Beyond the asked offset where what lay there was dropped. */
  readOutput(
    run: RunId,
    rank: number,
    offset: number,
    maxBytes: number,
  ): Promise<OutputPiece & { readonly offset: number }>;
  /** Null when there is none, or it is no plain file of a fair size; `before` again when nothing changed. */
  readStatus(run: RunId, rank: number, before: StatusText | null): Promise<StatusText | null>;
  /** The clock of the file system: it need not be this machine's. */
  nowMs(): Promise<number>;
  /** False when a command with a higher epoch came before. */
  admit(epoch: number): Promise<boolean>;
  /** Removes runs that have been over for so long, with their output, what a stop kept from beginning so long ago, and epochs that count no more. */
  tidy(keepMs: number): Promise<void>;
}

/** On a directory that this machine sees too. */
export const localRunDirectories = (shared: string, ownership: Ownership): RunDirectories =>
  runDirectories(shared, localFiles, ownership);

export function runDirectories(shared: string, files: SharedFiles, ownership: Ownership): RunDirectories {
  const of = (run: RunId): string => join(shared, 'runs', run);
  const over = (run: RunId): string => join(shared, 'over', run);
  const exists = async (dir: string): Promise<boolean> => (await files.names(dir)) !== null;
  const where = async (run: RunId): Promise<string> => ((await exists(of(run))) ? of(run) : over(run));
  const ownText = `${JSON.stringify(ownership.owner)}\n`;
  let made: Promise<unknown> | null = null;
  let marks = 0;
  const make = (): Promise<unknown> => {
    made ??= checked(shared, files)
      .then(() => checkOwner().catch(noDirectory))
      .then(() => Promise.all(['runs', 'over', 'epoch'].map((name) => files.makeNew(join(shared, name)))));
    made.catch(() => {
      made = null;
    });
    return made;
  };

  function noDirectory(error: unknown): never {
    if (!/ENOTDIR|not a directory/i.test(String(error))) throw error;
    throw new Error(`${shared} is a file; give a directory that every node sees`);
  }

  async function checkOwner(): Promise<void> {
    const file = join(shared, 'owner');
    for (;;) {
      const text = await files.read(file);
      if (text === null) {
        if (!ownership.claims) return;
        await checkClaim(`the directory ${shared}`, ownership, `write ${ownText.trim()} to ${file}`);
        await files.writeNew(file, ownText);
        continue;
      }
      const found = ownerSchema.parse(JSON.parse(text));
      if (!ownership.isOwn(found))
        throw othersPlace(`the directory ${shared}`, found, ownership, 'empty this one');
      // Under its name of now, so that nobody takes it for one of a cluster that is gone.
      if (ownership.claims && found.cluster !== ownership.owner.cluster) await files.write(file, ownText);
      return;
    }
  }

  /** By a file of now. */
  async function nowMs(): Promise<number> {
    const mark = join(shared, `now-${process.pid}-${++marks}`);
    await files.write(mark, '');
    const changedMs = await files.changedMs(mark);
    await files.remove(mark);
    if (changedMs === null) throw new Error(`${mark} was taken away`);
    return changedMs;
  }

  async function stopOf(dir: string): Promise<StopFacts | null> {
    const content = await files.read(join(dir, 'stop.json'));
    return content === null ? null : stopFacts.parse(JSON.parse(content));
  }

  async function exitsIn(dir: string, ranks: readonly number[]): Promise<Map<number, StepExit>> {
    const told = await Promise.all(
      ranks.map(async (rank) => [rank, await files.read(join(dir, 'claim', `exit-${rank}`))] as const),
    );
    const exits = new Map<number, StepExit>();
    for (const [rank, text] of told) {
      const [, code, word] = /^(\d{1,3}|lost) (yes|no)\n$/.exec(text ?? '') ?? [];
      if (code !== undefined)
        exits.set(rank, { code: code === 'lost' ? null : Number(code), stopped: word === 'yes' });
    }
    return exits;
  }

  async function droppedOf(dir: string, rank: number): Promise<{ from: number; to: number }> {
    const text = await files.read(join(dir, 'claim', `dropped-${rank}`));
    const [, from, to] = /^(\d{1,15}) (\d{1,15})\n$/.exec(text ?? '') ?? [];
    return from === undefined
      ? { from: Number.POSITIVE_INFINITY, to: 0 }
      : { from: Number(from), to: Number(to) };
  }

  /** It was stopped before it was submitted: nobody tells its end, so nobody forgets it either. */
  async function isOldTombstone(run: RunId, beforeMs: number): Promise<boolean> {
    const changedMs = await files.changedMs(of(run));
    if (changedMs === null || changedMs > beforeMs) return false;
    const names = (await files.names(of(run))) ?? [];
    return names.includes('claim') && !names.includes('run.json');
  }

  return {
    of,
    checkOwner,
    async open() {
      await make();
      const [names] = await Promise.all([files.names(join(shared, 'runs')), checkOwner()]);
      return (names ?? []).filter(isRunId);
    },
    isOver: (run) => exists(over(run)),
    async prepare(run, { tasks, steps, words, outputLimitMib }) {
      await make();
      const dir = of(run);
      const fresh = await files.makeNew(dir);
      // Written by whoever came first; a script may be reading it.
      if (!fresh && (await files.read(join(dir, 'run.json'))) !== null) return false;
      await Promise.all([
        files.write(join(dir, 'steps'), steps),
        files.write(join(dir, 'output-limit'), outputLimitMib > 0 ? `${outputLimitMib * 1024 * 1024}\n` : ''),
        ...[...words].map(([rank, list]) =>
          files.write(join(dir, `task-${rank}`), list.map((word) => `${word}\0`).join('')),
        ),
      ]);
      await files.write(join(dir, 'run.json'), JSON.stringify({ tasks }));
      return fresh;
    },
    async evidence(run) {
      const dir = await where(run);
      const [meant, stop, names, job] = await Promise.all([
        files.read(join(dir, 'run.json')),
        stopOf(dir),
        files.names(join(dir, 'claim')),
        files.read(join(dir, 'claim', 'job')),
      ]);
      if (meant === null) return stop === null ? null : { ...nothing, claim: { job: null }, stop };
      const { tasks } = plan.parse(JSON.parse(meant));
      if (names === null) return { ...nothing, tasks, stop };
      const exits = await exitsIn(dir, ranksOf(names, 'exit-'));
      const id = job === null || !/^\d{1,10}\n$/.test(job) ? null : Number(job);
      const started = new Set(ranksOf(names, 'started-'));
      const heard = names.includes('stopping') || names.includes('asked');
      return { tasks, claim: { job: id }, started, exits, stop, heard, again: names.includes('again') };
    },
    async stop(run, { class: errorClass, reason, signal, graceMs, ask }, code) {
      await make();
      if (await exists(over(run))) return true;
      const dir = of(run);
      await files.makeNew(dir);
      await files.write(join(dir, 'stop.json'), JSON.stringify({ class: errorClass, reason, code }));
      const first = ask ? `${ask.signal} ${ask.waitMs / 1000}` : '- 0';
      await files.write(join(dir, 'stop'), `${signal} ${Math.max(graceMs, 0) / 1000} ${first}\n`);
      // The stop lies there before the claim is tried: a script that claimed first reads it or is told of it.
      return files.makeNew(join(dir, 'claim'));
    },
    async noteCancel(run) {
      await files.write(join(of(run), 'claim', 'cancelled'), '');
    },
    async forget(run) {
      await make();
      await checkOwner();
      await files.move(of(run), over(run));
    },
    async refuse(run, detail) {
      await files.write(join(of(run), 'refused'), detail);
      await files.move(of(run), over(run));
    },
    refusal: (run) => files.read(join(over(run), 'refused')),
    async readOutput(run, rank, offset, maxBytes) {
      const dir = await where(run);
      const file = join(dir, `output-${rank}`);
      for (let from = offset; ; ) {
        const { data, size } = (await files.piece(file, from, maxBytes)) ?? {
          data: new Uint8Array(),
          size: 0,
        };
        // Asked afterwards: what is dropped is told before it goes.
        const dropped = await droppedOf(dir, rank);
        if (from >= dropped.from && from < dropped.to) from = dropped.to;
        else
          return {
            offset: from,
            data: data.subarray(0, from < dropped.from ? dropped.from - from : undefined),
            size,
          };
      }
    },
    async readStatus(run, rank, before) {
      return files.stamped(join(await where(run), `status-${rank}`, 'status.json'), statusBytesMax, before);
    },
    nowMs: () => make().then(nowMs),
    async admit(epoch) {
      await make();
      const dir = join(shared, 'epoch');
      const [names] = await Promise.all([files.names(dir), checkOwner()]);
      const seen = (names ?? []).map(Number);
      if (seen.some((other) => other > epoch)) return false;
      if (!seen.includes(epoch)) await files.makeNew(join(dir, String(epoch)));
      return true;
    },
    async tidy(keepMs) {
      await make();
      const now = await nowMs();
      for (const run of ((await files.names(join(shared, 'runs'))) ?? []).filter(isRunId))
        if (await isOldTombstone(run, now - keepMs)) await files.move(of(run), over(run));
      for (const run of ((await files.names(join(shared, 'over'))) ?? []).filter(isRunId)) {
        // Moved there is a change of the directory's entry, not of its content.
        const changedMs = await files.changedMs(over(run));
        if (changedMs !== null && now - changedMs > keepMs) await files.remove(over(run));
      }
      const epochs = ((await files.names(join(shared, 'epoch'))) ?? []).map(Number);
      for (const epoch of epochs.filter((one) => one < Math.max(...epochs)))
        await files.remove(join(shared, 'epoch', String(epoch)));
    },
  };
}

/**
 * It is not made where it is missing: a wrong path, or a file system that is not mounted, would become an empty directory that no
 * node sees, in which no run of before is found.
 */
async function checked(shared: string, files: SharedFiles): Promise<void> {
  const mode = await files.mode(shared);
  if (mode === null)
    throw new Error(
      `the directory ${shared} is not there; make it on a file system that every node sees (mkdir -m 700), or mount that`,
    );
  if ((mode & writableByOthers) !== 0)
    throw new Error(
      `other people can write to the directory ${shared}, and so change what jobs run; give one that only its owner can write to (chmod 700)`,
    );
}

const writableByOthers = 0o022;
const statusBytesMax = 4096;

const nothing = {
  tasks: [],
  claim: null,
  started: new Set<number>(),
  exits: new Map(),
  stop: null,
  heard: false,
  again: false,
};

function ranksOf(names: readonly string[], prefix: string): number[] {
  return names
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)));
}
