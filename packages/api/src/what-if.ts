// What would happen if: asked of a second engine, so that nothing is changed and nobody waits for it. A member may ask about
// a job of their own project and sees their own jobs by name and others as counts; what concerns everybody (nodes, quotas,
// policy) is for an admin of everything to ask.
import {
  entryFacts,
  freshId,
  isProjectPath,
  type JobFacts,
  type JobId,
  jobDemand,
  type NodeId,
  type Policy,
  parsePolicy,
  policyDocument,
  type WhatIf,
  type WhatIfList,
  type WhatIfPreemption,
  type WhatIfQuestion,
  type WhatIfView,
} from '@muster/model';
import * as z from 'zod';
import { type Caller, hasRole, sees } from './auth.ts';
import type { Api } from './deps.ts';
import { whatIfSchema } from './engine-view-schemas.ts';
import { verdictView } from './engine-views.ts';
import { checkedSpec } from './jobs.ts';
import { nodesOfCluster } from './nodes-of-cluster.ts';
import { checkNames, checkQuota } from './policy-names.ts';
import { fieldRefusal, notFound, refuse } from './problem.ts';
import { route } from './route.ts';
import { time } from './time-text.ts';
import { waitingText } from './why.ts';

const open = z.record(z.string(), z.unknown());
const nodeWord = z.string().regex(/^[a-z0-9_-]{1,63}$/, 'must be the name or id of a node');
const amounts = z.record(z.string(), z.union([z.string(), z.number()])).optional();
const nodesMax = 1000;

const body = z
  .strictObject({
    submit: open.meta({ description: 'a job spec' }).optional(),
    count: z.int().min(1).max(1000).default(1).meta({ description: 'so many of it' }),
    drain: z.array(nodeWord).min(1).max(nodesMax).optional(),
    lose: z.array(nodeWord).min(1).max(nodesMax).optional(),
    loseCluster: z.string().min(1).max(63).optional(),
    addNodes: z.strictObject({ like: nodeWord, count: z.int().min(1).max(nodesMax) }).optional(),
    policy: open.meta({ description: 'a whole policy' }).optional(),
    quota: z
      .strictObject({
        project: z.string().refine(isProjectPath, 'must be a project path'),
        guaranteed: amounts,
        ceiling: amounts,
        userCeiling: amounts,
        weight: z.number().optional(),
      })
      .meta({ description: 'what of a project changes in the present policy; the rest stays' })
      .optional(),
  })
  .refine(
    ({ count: _, ...asked }) => Object.values(asked).filter((value) => value !== undefined).length === 1,
    {
      message: 'must ask exactly one of submit, drain, lose, loseCluster, addNodes, policy, quota',
    },
  );
type Asked = z.output<typeof body>;

export const whatIf = route({
  id: 'whatIf',
  method: 'POST',
  path: '/v1/whatif',
  tag: 'questions',
  summary: 'What a submit, a drain, a loss, a quota or a policy would change in what is decided next',
  access: 'member',
  body,
  bodyBytes: 4 * 1024 * 1024,
  audit: 'never',
  answers: { 200: whatIfSchema },
  async handle(api, { caller, body: asked }) {
    if (asked.submit === undefined && !hasRole(caller, 'operator'))
      throw refuse(
        'forbidden',
        'only an admin of everything may ask what would happen to the fleet or the policy',
      );
    const { question, names } = await questionOf(api, caller, asked);
    const { sequence } = await api.store.head();
    const answer = await api.control.whatIf(question, sequence);
    return { body: await viewOf(api, caller, answer, names) };
  },
});

interface Prepared {
  readonly question: WhatIfQuestion;
  /** Names of jobs that exist only in the question. */
  readonly names: Map<JobId, string>;
}

async function questionOf(api: Api, caller: Caller, asked: Asked): Promise<Prepared> {
  const names = new Map<JobId, string>();
  if (asked.submit) {
    const spec = await checkedSpec(api, caller, asked.submit);
    const { name } = spec;
    const facts = entryFacts(spec, caller.principal, api.control.estimate(spec, caller.principal));
    const nowMs = api.clock.nowMs();
    const jobs = Array.from({ length: asked.count }, (): JobFacts => {
      const job = freshId('job', nowMs, api.idRandom());
      names.set(job, name);
      const { array } = spec;
      return {
        job,
        version: 1,
        name,
        ...facts,
        demand: jobDemand(spec),
        submittedMs: nowMs,
        ...(array && { array }),
      };
    });
    return { question: { kind: 'submit', jobs }, names };
  }
  return { question: await fleetQuestion(api, asked), names };
}

async function fleetQuestion(api: Api, asked: Asked): Promise<WhatIfQuestion> {
  if (asked.drain) return { kind: 'drain', nodes: await nodeIds(api, asked.drain) };
  if (asked.lose) return { kind: 'lose', nodes: await nodeIds(api, asked.lose) };
  if (asked.loseCluster !== undefined)
    return {
      kind: 'lose',
      nodes: (await nodesOfCluster(api, asked.loseCluster)).map(({ id }) => id),
    };
  if (asked.addNodes) {
    const [like] = await nodeIds(api, [asked.addNodes.like]);
    return { kind: 'add', like: like as NodeId, count: asked.addNodes.count };
  }
  return { kind: 'policy', policy: await wantedPolicy(api, asked) };
}

async function wantedPolicy(api: Api, { policy, quota }: Asked): Promise<Policy> {
  const parsed = parsePolicy(policy ?? (await editedPolicy(api, quota!)));
  if (!parsed.ok) throw fieldRefusal(parsed.problems);
  if (policy) await checkNames(api, parsed.policy);
  else await checkQuota(api, parsed.policy, quota!);
  return parsed.policy;
}

async function editedPolicy(
  api: Api,
  { project, ...changes }: NonNullable<Asked['quota']>,
): Promise<unknown> {
  const document = policyDocument((await api.store.policy()).policy);
  const quotas = document.quotas ?? [];
  const before = quotas.find((quota) => quota.project === project);
  const said = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  return {
    ...document,
    quotas: [...quotas.filter((quota) => quota !== before), { project, ...before, ...said }],
  };
}

async function nodeIds(api: Api, words: readonly string[]): Promise<NodeId[]> {
  const ids: NodeId[] = [];
  for (const word of new Set(words)) {
    const row = await api.store.node(word);
    if (!row || row.state.state === 'removed') throw notFound('node', word);
    ids.push(row.id);
  }
  return ids;
}

const namedMax = 100;

async function viewOf(
  api: Api,
  caller: Caller,
  answer: WhatIf,
  names: ReadonlyMap<JobId, string>,
): Promise<WhatIfView> {
  const nameOf = async (job: JobId): Promise<string> =>
    names.get(job) ?? (await api.store.job(job))?.spec.name ?? '';
  const shown = async <T extends { readonly job: JobId; readonly project: string }>(
    all: readonly T[],
  ): Promise<WhatIfList<T>> => {
    const own = all.filter(({ project }) => sees(caller, project)).slice(0, namedMax);
    const items = await Promise.all(own.map(async (item) => ({ ...item, name: await nameOf(item.job) })));
    return { count: all.length, items };
  };
  const preemptions = async (all: readonly WhatIfPreemption[]): Promise<WhatIfList<WhatIfPreemption>> => {
    const { count, items } = await shown(all);
    const told = items.map(async (item) => {
      const by = item.by === null || names.has(item.by) ? null : await api.store.job(item.by);
      return by && !sees(caller, by.spec.project) ? { ...item, by: null } : item;
    });
    return { count, items: await Promise.all(told) };
  };
  const verdicts = answer.verdicts.map(({ before, after, ...verdict }) => ({
    ...verdict,
    before: before && verdictView(before),
    after: after && verdictView(after),
    beforeText: before && waitingText(before),
    afterText: after && waitingText(after),
  }));
  const stops = answer.stops.map(({ after, ...stop }) => ({
    ...stop,
    after: after && verdictView(after),
    afterText: after && waitingText(after),
  }));
  const { sequence, cycles, settled, cost } = answer;
  return {
    sequence,
    cost,
    at: time(answer.nowMs),
    cycles,
    settled,
    starts: await shown(answer.starts),
    startsNot: await shown(answer.startsNot),
    moves: await shown(answer.moves),
    stops: await shown(stops),
    preempts: await preemptions(answer.preempts),
    spares: await preemptions(answer.spares),
    verdicts: await shown(verdicts),
  };
}
