// Many submits in one request: each item is judged and answered on its own, in order, and one bad item never fails its
// neighbours. Parsing thousands of specs takes a while, so it lets other requests in between.
import { setImmediate } from 'node:timers/promises';
import type { BatchItemView, FieldProblem } from '@muster/model';
import { idempotencyKeyRule, isIdempotencyKey, jobSpecSchema, pointer, shown } from '@muster/model';
import type { Submit } from '@muster/store';
import * as z from 'zod';
import type { Caller } from './auth.ts';
import { checkBody } from './check-input.ts';
import type { Api } from './deps.ts';
import { problemOf } from './problem.ts';
import { route } from './route.ts';
import { auditRefusal } from './serve-route.ts';
import { type Checked, checkSpec, type Refused, specDefaults, submitItem, submitRefused } from './submit.ts';
import type { TenancyView } from './tenancy.ts';
import { batchSchema } from './view-schemas.ts';

export const maxBatchItems = 10_000;
export const maxBatchBytes = 32 * 1024 * 1024;
/** Items parsed before other requests get a turn: a few milliseconds' worth. */
const itemsPerTurn = 100;

const key = z.string().refine(isIdempotencyKey, idempotencyKeyRule);
const documented = z.strictObject({
  jobs: z
    .array(z.strictObject({ key: key.optional(), hold: z.boolean().optional(), spec: jobSpecSchema }))
    .max(maxBatchItems),
});
/** What is checked for the batch as a whole; items come one by one. */
const outer = z.strictObject({ jobs: z.array(z.unknown()).max(maxBatchItems) });
const itemKeys = ['key', 'hold', 'spec'];

export const submitBatch = route({
  id: 'submitBatch',
  method: 'POST',
  path: '/v1/jobs/batch',
  tag: 'jobs',
  summary: 'Submit many jobs; each item has its own answer, in order',
  access: 'member',
  body: documented,
  rawBody: true,
  bodyBytes: maxBatchBytes,
  audit: 'refused',
  answers: { 200: batchSchema },
  async handle(api, { caller, body, request }) {
    const { jobs } = checkBody(outer, body) as z.output<typeof outer>;
    const prepared = await prepare(api, caller, jobs);
    const submits = prepared.flatMap((item) => (item.ok ? [item.submit] : []));
    const outcomes = submits.length > 0 ? await api.store.submitMany(submits) : [];
    let next = 0;
    const items = prepared.map((item): BatchItemView => {
      if (!item.ok) return bad(item.refused);
      const outcome = outcomes[next++];
      if (outcome?.outcome === 'committed')
        return { ok: true, id: outcome.value.job, repeated: outcome.value.repeated };
      if (outcome?.outcome === 'refused') return bad(submitRefused(outcome.refusal, item.submit));
      const check = item.submit.key === null ? 'look for the job' : 'check with the same key';
      return bad({
        code: 'outcome-unknown',
        detail: `the database did not say whether this took effect; ${check}`,
      });
    });
    // One entry for each kind of refusal, as single submits would have made.
    for (const code of new Set(items.flatMap((item) => (item.ok ? [] : [item.problem.code]))))
      auditRefusal(api, request, code);
    return { body: { items } };
  },
});

type Prepared =
  | { readonly ok: true; readonly submit: Submit }
  | { readonly ok: false; readonly refused: Refused };

async function prepare(api: Api, caller: Caller, jobs: readonly unknown[]): Promise<Prepared[]> {
  let tenancy = await api.tenancy.current();
  let refreshed = false;
  const prepared: Prepared[] = [];
  for (const [i, job] of jobs.entries()) {
    if (i > 0 && i % itemsPerTurn === 0) await setImmediate();
    let item = prepareItem(api, caller, tenancy, job);
    // What seems missing may be a moment old; one look serves the whole batch.
    if (!item.ok && !refreshed && item.refused.mayBeStale) {
      refreshed = true;
      tenancy = await api.tenancy.refreshed();
      item = prepareItem(api, caller, tenancy, job);
    }
    prepared.push(item);
  }
  return prepared;
}

function prepareItem(api: Api, caller: Caller, tenancy: TenancyView, job: unknown): Prepared {
  const item = checkItem(job);
  if (!item.ok) return item;
  const checked: Checked = checkSpec(
    caller,
    tenancy,
    specDefaults(caller, tenancy),
    item.spec,
    api.clock.nowMs(),
  );
  if (!checked.ok) return { ok: false, refused: below('/spec', checked.refused) };
  const { key, held } = item;
  return {
    ok: true,
    submit: submitItem(api, caller, { body: item.spec, spec: checked.spec, key, held }),
  };
}

type Item =
  | { readonly ok: true; readonly key: string | null; readonly held: boolean; readonly spec: unknown }
  | { readonly ok: false; readonly refused: Refused };

function checkItem(job: unknown): Item {
  if (job === null || typeof job !== 'object' || Array.isArray(job))
    return wrong('invalid-field', [], 'must be {key, hold, spec}', job);
  const { key = null, hold = false, spec } = job as Record<string, unknown>;
  for (const name in job)
    if (!itemKeys.includes(name))
      return wrong('unknown-field', [name], `unknown field; there are ${itemKeys.join(', ')}`);
  if (key !== null && !(typeof key === 'string' && isIdempotencyKey(key)))
    return wrong('invalid-field', ['key'], idempotencyKeyRule, key);
  if (typeof hold !== 'boolean') return wrong('invalid-field', ['hold'], 'must be true or false', hold);
  if (spec === undefined) return wrong('invalid-field', ['spec'], 'is required: the job spec');
  return { ok: true, key, held: hold, spec };
}

function wrong(code: FieldProblem['code'], at: readonly string[], message: string, value?: unknown): Item {
  const path = pointer(at);
  const errors: FieldProblem[] = [{ code, path, message, value: shown(value) }];
  return { ok: false, refused: { code, detail: `${path || 'the item'}: ${message}`, errors } };
}

/** Pointers of an item's problems start at the item. */
function below(prefix: string, refused: Refused): Refused {
  const { errors } = refused;
  if (!errors) return refused;
  return { ...refused, errors: errors.map((error) => ({ ...error, path: prefix + error.path })) };
}

function bad({ code, detail, errors }: Refused): BatchItemView {
  return { ok: false, problem: problemOf(code, detail, errors) };
}
