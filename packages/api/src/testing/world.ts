// A server to test against: the real store, and a control plane whose engine and agents are played by the test. Everything
// else is what runs in production.
import { randomBytes } from 'node:crypto';
import { type ControlPlane, type ControlStatus, createQuestions, type Explained } from '@muster/control';
import type { OutputAnswer, OutputRequest } from '@muster/drivers';
import { loadEngine } from '@muster/engine';
import {
  type Explanation,
  freshId,
  type NodeId,
  onlyVerdict,
  type PlannedJob,
  type Role,
  type RunEstimate,
  type ServerId,
  type Verdict,
} from '@muster/model';
import type { Store } from '@muster/store';
import type { LightMyRequestResponse } from 'fastify';
import { pino } from 'pino';
import { createApi, type RunningApi } from '../create-api.ts';
import type { ApiConfig } from '../deps.ts';
import { mintSecret, secretHash } from '../token-text.ts';
import { openTestStore } from './database.ts';

/** The agents and the engine as a test plays them. */
export interface PlayedControl extends ControlPlane {
  verdict: Verdict | null;
  /** The whole answer beside the verdict. */
  explanation: Explanation | null;
  plannedStarts: readonly PlannedJob[];
  /** What is said of every job that comes. */
  estimated: RunEstimate | undefined;
  lag: number;
  troubles: readonly string[];
  readonly connectedNodes: Set<NodeId>;
  readonly accepted: { socket: unknown; from: string }[];
  read: (request: OutputRequest) => Promise<OutputAnswer>;
}

export function playControl(store: Store): PlayedControl {
  const connectedNodes = new Set<NodeId>();
  const accepted: PlayedControl['accepted'] = [];
  let sequence = 0;
  const explained = async (atLeast: number): Promise<Explained> => {
    sequence = Math.max(sequence, atLeast);
    const { verdict } = control;
    const explanation = verdict && (control.explanation ?? onlyVerdict(verdict));
    return { sequence, verdict, explanation };
  };
  const status = (): ControlStatus => ({
    leading: true,
    epoch: 7,
    sequence: control.lag === 0 ? Number.MAX_SAFE_INTEGER : 0,
    lastCycleMs: 3,
    cycles: 11,
    placements: 5,
    troubles: control.troubles,
  });
  // What would be and what was is asked of the real engine: a test has no better one.
  const quietWorld = {
    clock: { monotonicMs: () => 0 },
    timers: { after: () => () => {} },
    random: Math.random,
  };
  const questions = createQuestions({
    world: { ...quietWorld, log: pino({ level: 'silent' }) },
    store,
    load: loadEngine,
  });
  const control: PlayedControl = {
    server: freshId('server', Date.now(), randomBytes(9)) as ServerId,
    verdict: null,
    explanation: null,
    plannedStarts: [],
    estimated: undefined,
    lag: 0,
    troubles: [],
    connectedNodes,
    accepted,
    read: async ({ offset }) => ({ offset, data: new Uint8Array(), size: offset, end: true }),
    explain: (_job, atLeast) => explained(atLeast),
    verdicts: async (jobs) =>
      new Map(control.verdict ? jobs.map((job) => [job, control.verdict as Verdict]) : []),
    consider: async () => explained((await store.head()).sequence),
    planned: async () => control.plannedStarts,
    estimate: () => control.estimated,
    ledger: async () => loadEngine(await store.loadEngine()).ledger(await store.nowMs()),
    whatIf: questions.whatIf,
    score: questions.score,
    replay: questions.replay,
    agents: {
      accept: (socket: unknown, from: string) => void accepted.push({ socket, from }),
      get connected() {
        return connectedNodes.size;
      },
      isConnected: (node: NodeId) => connectedNodes.has(node),
      refused: () => [],
      readOutput: (request: OutputRequest) => control.read(request),
    } as ControlPlane['agents'],
    testCluster: async ({ kind }) => {
      return { kind, answered: true, error: null, settled: true, nodes: [], runs: 0, lacks: [] };
    },
    status,
    stepDown: async () => {},
    stop: async () => {},
  };
  return control;
}

export interface World {
  readonly api: RunningApi;
  readonly store: Store;
  readonly control: PlayedControl;
  readonly clock: { nowMs(): number; aheadMs: number };
  readonly logLines: string[];
  token(role: Role, project: string | null, options?: { expiresMs?: number; name?: string }): Promise<string>;
  project(path: string): Promise<void>;
  /** A request as a client makes it. */
  ask(method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, options?: Ask): Promise<LightMyRequestResponse>;
  close(): Promise<void>;
}

export interface Ask {
  readonly token?: string;
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly raw?: string | Buffer;
  readonly headers?: Record<string, string>;
}

export async function openWorld(config: Partial<ApiConfig> = {}): Promise<World> {
  const { store, close: closeStore } = await openTestStore();
  const control = playControl(store);
  const clock = { aheadMs: 0, nowMs: () => Date.now() + clock.aheadMs };
  const logLines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) });
  const api = await createApi({
    store,
    control,
    clock,
    random: (bytes) => randomBytes(bytes),
    log,
    version: { version: '0.1.0', commit: 'test', schema: 1 },
    config: {
      host: '127.0.0.1',
      port: 0,
      tls: null,
      behindTlsProxy: false,
      maxBodyBytes: 1024 * 1024,
      ...config,
    },
  }).catch(async (error: unknown) => {
    await closeStore();
    throw error;
  });
  return {
    api,
    store,
    control,
    clock,
    logLines,
    async token(
      role,
      project,
      { expiresMs = null, name = role }: { expiresMs?: number | null; name?: string } = {},
    ) {
      const text = mintSecret('mst', (bytes) => randomBytes(bytes));
      const id = freshId('token', Date.now(), randomBytes(9));
      await store.createToken({
        id,
        name,
        hash: secretHash('mst', text) ?? '',
        role,
        project,
        by: 'test',
        expiresMs,
      });
      return text;
    },
    async project(path) {
      const outcome = await store.createProject(path, 'test');
      if (outcome.outcome !== 'committed') throw new Error(`project ${path}: ${JSON.stringify(outcome)}`);
    },
    ask: (method, url, { token, body, raw, headers = {} } = {}) => {
      const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
      return api.app.inject({
        method,
        url,
        headers: {
          ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
        ...(payload === undefined ? {} : { payload }),
      });
    },
    async close() {
      await api.close();
      await closeStore();
    },
  };
}

/** The smallest job. */
export const aJob = { command: ['true'] };
