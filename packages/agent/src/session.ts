// What an agent does while a server has welcomed it: beats, commands, reports and output. Everything that must survive the
// connection lives elsewhere (supervisor, book, reports, epoch); a session can be dropped at any moment.

import { join } from 'node:path';
import {
  type AgentMessage,
  clip,
  isRunId,
  maxReadBytes,
  maxReasonChars,
  type RunId,
  type ServerMessage,
} from '@muster/model';
import { Beats } from './beats.ts';
import type { CheckpointWatch } from './checkpoint-watch.ts';
import type { Connection } from './connection.ts';
import type { Logger } from './options.ts';
import type { Reports } from './reports.ts';
import type { Epoch } from './state-dir.ts';
import { bootClockMs } from './supervisor/clock.ts';
import { readOutput } from './supervisor/output-files.ts';
import { type StopRequest, taskKey } from './supervisor/protocol.ts';
import type { SupervisorLink } from './supervisor-link.ts';
import type { TaskBook } from './task-book.ts';
import type { Specs } from './task-spec.ts';

type Message<T extends ServerMessage['type']> = Extract<ServerMessage, { type: T }>;

export interface SessionDeps {
  readonly log: Logger;
  readonly epoch: Epoch;
  readonly link: SupervisorLink;
  readonly book: TaskBook;
  readonly reports: Reports;
  readonly outputDir: string;
  readonly checkpoints: CheckpointWatch;
  readonly specs: (command: Message<'start'>['command']) => Promise<Specs>;
}

type Taken = Pick<Extract<AgentMessage, { type: 'done' }>, 'outcome' | 'detail'>;
const accepted: Taken = { outcome: 'accepted', detail: null };
const refused = (detail: string): Taken => ({ outcome: 'refused', detail });

const leaseLost: StopRequest = {
  class: 'infrastructure',
  reason: {
    code: 'lease-lost',
    message: 'stopped, because the control plane no longer knows this attempt as live',
  },
  how: null,
};

export class Session {
  readonly #deps: SessionDeps;
  readonly #connection: Connection;
  readonly #beats: Beats;

  constructor(deps: SessionDeps, connection: Connection, welcome: Message<'welcome'>) {
    this.#deps = deps;
    this.#connection = connection;
    deps.epoch.admit(welcome.epoch);
    deps.reports.connected((report, items) => connection.send({ type: 'report', report, items }));
    this.#beats = new Beats(welcome.beatMs, {
      keys: () => deps.book.liveRuns(),
      send: (beat, keys) => connection.send({ type: 'beat', beat, keys }),
      nowMs: bootClockMs,
      silent: () => connection.end('no answer to a beat came in time'),
    });
  }

  end(): void {
    this.#beats.stop();
    this.#deps.reports.disconnected();
  }

  handle(message: ServerMessage): void {
    switch (message.type) {
      case 'renewed':
        this.#renewed(message);
        return;
      case 'start':
        this.#carryOut(message, this.#start(message));
        return;
      case 'stop':
        this.#carryOut(message, this.#stop(message));
        return;
      case 'reported':
        this.#deps.reports.onReported(message.report);
        return;
      case 'read':
        return void this.#read(message);
      case 'challenge':
      case 'welcome':
        this.#connection.end(`a second ${message.type}`);
        return;
      case 'refused':
        this.#connection.end(`refused: ${message.message}`);
        return;
    }
  }

  #renewed({ beat, beatMs, live }: Message<'renewed'>): void {
    const sent = this.#beats.renewed(beat, beatMs);
    if (!sent) return;
    const named = new Set<RunId>(sent.keys);
    const renewals = live
      .filter(({ run }) => named.delete(run))
      .map(({ run, stopAfterMs }) => ({
        run,
        stopAfterMs,
        deadlineMs: stopAfterMs === null ? null : sent.sentMs + stopAfterMs,
      }));
    if (renewals.length > 0) this.#deps.link.renew(renewals);
    for (const run of named) void this.#deps.link.stop(run, leaseLost);
  }

  #carryOut({ outbox, type }: Message<'start' | 'stop'>, taken: Promise<Taken>): void {
    const done = taken.catch((error: unknown): Taken => {
      this.#deps.log.error({ outbox, error: String(error) }, `a ${type} command failed`);
      return { outcome: 'refused', detail: String(error) };
    });
    void done.then(({ outcome, detail }) => {
      this.#connection.send({
        type: 'done',
        outbox,
        outcome,
        detail: detail === null ? null : clip(detail, maxReasonChars),
      });
    });
  }

  async #start({ epoch, command }: Message<'start'>): Promise<Taken> {
    if (!this.#deps.epoch.admit(epoch)) return this.#stale();
    if (!isRunId(command.run)) return refused(`"${command.run}" is not a run`);
    const specs = await this.#deps.specs(command);
    if (!specs.ok) return refused(specs.message);
    const taken = this.#deps.book.arriving(command.run, this.#deps.link.prepare(specs.specs));
    this.#beats.now();
    const trouble = await taken;
    return trouble === null ? accepted : refused(trouble);
  }

  async #stop({ epoch, command }: Message<'stop'>): Promise<Taken> {
    if (!this.#deps.epoch.admit(epoch)) return this.#stale();
    const { signal, graceMs, reason, ask = null } = command;
    if (ask) this.#deps.checkpoints.hurry(command.run);
    await this.#deps.link.stop(command.run, {
      class: command.class,
      reason: { code: command.class, message: clip(reason, maxReasonChars) },
      how: { signal, graceMs },
      ask,
    });
    return accepted;
  }

  #stale(): Taken {
    return { outcome: 'stale-epoch', detail: `a newer leader has epoch ${this.#deps.epoch.highest}` };
  }

  async #read(message: Message<'read'>): Promise<void> {
    const { read, run, rank, offset, waitMs } = message;
    const answer = await this.#output(message).catch((error: unknown) => ({
      ...nothing,
      error: clip(String(error), maxReasonChars),
    }));
    this.#deps.log.debug({ run, rank, offset, waitMs, size: answer.size }, 'read output');
    this.#connection.send({ type: 'bytes', read, ...answer });
  }

  async #output({ run, rank, offset: from, max, waitMs }: Message<'read'>) {
    // Both name a directory below ours.
    if (!isRunId(run) || !Number.isSafeInteger(rank) || rank < 0)
      return { ...nothing, error: 'no such task' };
    const key = taskKey(run, rank);
    const dir = join(this.#deps.outputDir, key);
    const bytes = Math.min(Math.max(1, max), maxReadBytes);
    // First whether it lives, then what it wrote: what is over then has written everything.
    let looked = await this.#deps.link.look(key, from, 0);
    let slice = await readOutput(dir, from, bytes);
    if (slice.data.length === 0 && looked.live && waitMs > 0) {
      looked = await this.#deps.link.look(key, from, waitMs);
      slice = await readOutput(dir, from, bytes);
    }
    if (slice.size === 0 && !looked.known)
      return {
        ...nothing,
        error: `this node has no output of ${key}: it never ran here, or it is no longer kept`,
      };
    // What a full disk or the limit kept from being written is passed over: who follows must not ask for it for ever.
    const size = Math.max(slice.size, looked.live ? looked.size : 0);
    const offset = looked.live && slice.data.length === 0 ? size : slice.offset;
    const end = !looked.live && offset + slice.data.length >= size;
    return { offset, data: slice.data.toString('base64'), end, size, error: null };
  }
}

const nothing = { offset: 0, data: '', end: true, size: 0, error: null };
