// Submitting: from a body and its caller to what the store writes. Job and batch share it, so that an item of a batch is judged
// exactly as a single submit is.
import {
  clip,
  type FieldProblem,
  freshId,
  type JobSpec,
  jobDemand,
  nearest,
  type ProblemCode,
  parseSpec,
  type SpecDefaults,
  shown,
  tierNamed,
} from '@muster/model';
import type { Submit, SubmitRefusal } from '@muster/store';
import { type Caller, sees } from './auth.ts';
import { bodyHash } from './body-hash.ts';
import type { Api } from './deps.ts';
import { inOneCluster } from './one-cluster.ts';
import { fieldSummary } from './problem.ts';
import type { TenancyView } from './tenancy.ts';

export const fallbackProject = 'default';

export interface Refused {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors?: readonly FieldProblem[];
  /** What it names may have been created a moment ago, on another server. */
  readonly mayBeStale?: true;
}

export type Checked =
  | { readonly ok: true; readonly spec: JobSpec }
  | { readonly ok: false; readonly refused: Refused };

export function specDefaults(caller: Caller, tenancy: TenancyView): SpecDefaults {
  return {
    project: caller.project ?? fallbackProject,
    tier: tenancy.policy.defaultTier,
    stopAfterMs: tenancy.stopAfterMs,
  };
}

/** The spec with its project and tier checked against what the caller may use and the policy knows. */
export function checkSpec(
  caller: Caller,
  tenancy: TenancyView,
  defaults: SpecDefaults,
  body: unknown,
  nowMs: number,
): Checked {
  const parsed = parseSpec(body, defaults);
  if (!parsed.ok) {
    const { code, detail } = fieldSummary(parsed.problems);
    return { ok: false, refused: { code, detail, errors: parsed.problems } };
  }
  const { spec } = parsed;
  // A project one may not see answers as one that does not exist.
  if (!sees(caller, spec.project) || !tenancy.hasProject(spec.project))
    return { ok: false, refused: unknownProject(spec.project) };
  if (!tierNamed(tenancy.policy, spec.tier)) return { ok: false, refused: unknownTier(spec.tier, tenancy) };
  const unknown = unknownLevels(spec, tenancy.policy.topology.levels);
  if (unknown.length > 0)
    return { ok: false, refused: { ...fieldSummary(unknown), errors: unknown, mayBeStale: true } };
  if (spec.deadlineMs !== null && spec.deadlineMs <= nowMs)
    return { ok: false, refused: pastDeadline(spec.deadlineMs) };
  const kept = inOneCluster(spec, tenancy.policy.topology.levels, tenancy.driven);
  if (kept.ok) return kept;
  const errors = [kept.problem];
  return { ok: false, refused: { ...fieldSummary(errors), errors, mayBeStale: true } };
}

/** A place that the policy does not have could never be found, and what was meant is near. */
function unknownLevels(spec: JobSpec, known: readonly string[]): FieldProblem[] {
  const levels = [...known, 'node'];
  const found: FieldProblem[] = [];
  const look = (path: string, level: string | undefined): void => {
    if (level === undefined || levels.includes(level)) return;
    const near = nearest(level, levels);
    const message = `there is no level "${level}" in the topology; ${near ? `did you mean "${near}"? ` : ''}levels are ${levels.join(', ')}`;
    found.push({ code: 'invalid-field', path, message, value: shown(level) });
  };
  look('/topology/level', spec.topology?.level);
  for (const [i, { demand }] of spec.groups.entries()) {
    look(`/groups/${i}/topology/level`, demand.topology?.level);
    look(`/groups/${i}/near/level`, demand.near?.level);
  }
  return found;
}

function unknownProject(project: string): Refused {
  const message = `there is no project "${clip(project)}" for this token`;
  const field = { code: 'invalid-field' as const, path: '/project', message, value: shown(project) };
  return { code: 'unknown-project', detail: message, errors: [field], mayBeStale: true };
}

function pastDeadline(deadlineMs: number): Refused {
  const value = new Date(deadlineMs).toISOString();
  const message = `${value} is in the past; a deadline is when the job should have ended`;
  const field = { code: 'invalid-field' as const, path: '/deadline', message, value };
  return { code: 'invalid-field', detail: `/deadline ${message}`, errors: [field] };
}

function unknownTier(tier: string, { policy }: TenancyView): Refused {
  const names = policy.tiers.map(({ name }) => name);
  const near = nearest(tier, names);
  const message = `there is no tier "${tier}"; ${near ? `did you mean "${near}"? ` : ''}tiers are ${names.join(', ')}`;
  const field = { code: 'invalid-field' as const, path: '/tier', message, value: shown(tier) };
  return { code: 'unknown-tier', detail: message, errors: [field], mayBeStale: true };
}

export interface SubmitParts {
  readonly body: unknown;
  readonly spec: JobSpec;
  readonly key: string | null;
  readonly held: boolean;
}

const noHash = '0'.repeat(64);

export function submitItem(api: Api, caller: Caller, { body, spec, key, held }: SubmitParts): Submit {
  return {
    id: freshId('job', api.clock.nowMs(), api.idRandom()),
    spec,
    demand: jobDemand(spec),
    principal: caller.principal,
    key,
    // Only a key ever compares bodies.
    bodyHash: key === null ? noHash : bodyHash(body, held),
    held,
    estimate: api.control.estimate(spec, caller.principal),
  };
}

export function submitRefused(refusal: SubmitRefusal, item: Submit): Refused {
  switch (refusal.code) {
    case 'key-reused':
      return {
        code: 'key-reused',
        detail: `the idempotency key "${clip(item.key ?? '')}" submitted ${refusal.job} with another body; use a new key`,
      };
    case 'unknown-project':
      return unknownProject(item.spec.project);
    case 'id-taken':
      return { code: 'unavailable', detail: 'the new job id was taken by chance; send the request again' };
  }
}
