// Jobs: submit, look, change. A submit always has an idempotency key, made here when the caller has none, so that a lost
// answer is met by sending it again and never by a second job.
import type {
  BatchItemView,
  ExplanationView,
  JobDetail,
  JobId,
  JobResult,
  JobSpecInput,
  JobSpecView,
  JobView,
  MoveAnswerView,
  Page,
  SubmittedView,
  VerdictView,
  WhyView,
} from '@muster/model';
import { pages } from './pages.ts';
import type { Transport } from './transport.ts';

interface Call {
  readonly signal?: AbortSignal | undefined;
}

export interface SubmitOptions extends Call {
  readonly key?: string | undefined;
  readonly hold?: boolean | undefined;
}

/** What a dry run answers: the spec made whole and what the engine would say to it now. */
export interface ConsideredView {
  readonly valid: true;
  readonly spec: JobSpecView;
  readonly verdict: VerdictView | null;
  readonly reason: string | null;
  /** Who would be ahead of it and what would start it now. */
  readonly explanation: ExplanationView | null;
  readonly sequence: number;
}

export interface BatchItem {
  readonly key?: string;
  readonly hold?: boolean;
  readonly spec: JobSpecInput;
}

export interface JobFilter {
  readonly state?: readonly JobView['state'][] | undefined;
  readonly project?: string | undefined;
  readonly name?: string | undefined;
  readonly submittedBy?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface MemberFilter {
  readonly state?: readonly JobView['state'][] | undefined;
  readonly outcome?: JobResult['outcome'] | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface MoveOptions extends Call {
  /** A cluster. */
  readonly to?: string | undefined;
  readonly reason?: string | undefined;
}

export function newKey(): string {
  return crypto.randomUUID();
}

export function jobsApi(transport: Transport) {
  const at = (id: string, tail = ''): string => `/v1/jobs/${encodeURIComponent(id)}${tail}`;
  const list = (filter: JobFilter = {}, call: Call = {}): Promise<Page<JobView>> =>
    transport.json({ path: '/v1/jobs', query: { ...filter }, ...call });
  const change = (id: string, verb: 'cancel' | 'hold' | 'release', call: Call = {}): Promise<JobView> =>
    // Each says how the job shall be, so saying it twice is once.
    transport.json({ method: 'POST', path: at(id, `/${verb}`), repeatable: true, ...call });

  return {
    submit(spec: JobSpecInput, { key = newKey(), hold, signal }: SubmitOptions = {}): Promise<SubmittedView> {
      return transport.json({
        method: 'POST',
        path: '/v1/jobs',
        query: { hold: hold || undefined },
        body: spec,
        idempotencyKey: key,
        signal,
      });
    },
    /** What would happen if this were submitted now; nothing is kept. */
    consider(spec: JobSpecInput, call: Call = {}): Promise<ConsideredView> {
      const query = { dryRun: true };
      return transport.json({
        method: 'POST',
        path: '/v1/jobs',
        query,
        body: spec,
        repeatable: true,
        ...call,
      });
    },
    /** One request, each item with its own answer in the same order. */
    async submitBatch(items: readonly BatchItem[], call: Call = {}): Promise<readonly BatchItemView[]> {
      const jobs = items.map((item) => ({ ...item, key: item.key ?? newKey() }));
      const answer = await transport.json<{ items: readonly BatchItemView[] }>({
        method: 'POST',
        path: '/v1/jobs/batch',
        body: { jobs },
        repeatable: true,
        timeoutMs: 120_000,
        ...call,
      });
      return answer.items;
    },
    list,
    /** Every job that matches, newest first, page by page. */
    all: (filter: JobFilter = {}, call: Call = {}): AsyncIterable<JobView> =>
      pages((cursor) => list({ ...filter, ...(cursor === null ? {} : { cursor }) }, call)),
    /** Members of an array that have started, by index. */
    members: (id: string, filter: MemberFilter = {}, call: Call = {}): Promise<Page<JobView>> =>
      transport.json({ path: at(id, '/members'), query: { ...filter }, ...call }),
    get: (id: string, call: Call = {}): Promise<JobDetail> => transport.json({ path: at(id), ...call }),
    why: (id: string, { after, signal }: Call & { readonly after?: number } = {}): Promise<WhyView> =>
      transport.json({ path: at(id, '/why'), query: { after }, signal }),
    cancel: (id: string, call?: Call) => change(id, 'cancel', call),
    hold: (id: string, call?: Call) => change(id, 'hold', call),
    release: (id: string, call?: Call) => change(id, 'release', call),
    /** Its run is stopped with its grace, and the job goes on elsewhere: in the cluster that is named, or in any other. */
    move: (id: string, { signal, ...order }: MoveOptions = {}): Promise<MoveAnswerView> =>
      transport.json({ method: 'POST', path: at(id, '/move'), body: order, repeatable: true, signal }),
    /** Takes back where it is to go. */
    unmove: (id: string, call: Call = {}): Promise<JobView> =>
      transport.json({ method: 'DELETE', path: at(id, '/move'), repeatable: true, ...call }),
  };
}

export type JobsApi = ReturnType<typeof jobsApi>;
export type { JobId };
