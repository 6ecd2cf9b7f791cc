// Quota and use: the engine's ledger, and what runs used in a period. A tenant sees its own projects; of loans with others
// it sees the amount and not the name.
import {
  deviceHourMicro,
  isProjectPath,
  type Ledger,
  type LedgerView,
  type Policy,
  parseDurationMs,
  parseInstantMs,
  projectRule,
  type UsageView,
} from '@muster/model';
import type { UsageRow } from '@muster/store';
import * as z from 'zod';
import { type Caller, sees } from './auth.ts';
import type { Api } from './deps.ts';
import { notFound, refuse } from './problem.ts';
import { route } from './route.ts';
import { time } from './time-text.ts';
import { ledgerSchema, usageSchema } from './view-schemas.ts';

const tag = 'quota';

const projectParam = z
  .string()
  .refine(isProjectPath, `must be ${projectRule}`)
  .optional()
  .meta({ description: 'only this project and those below it; all you see when left out' });

/** The project to look at: the caller's own scope, or one inside it. One that is not there is a slip, not one without use. */
async function scopeOf(api: Api, caller: Caller, project: string | undefined): Promise<string | null> {
  if (project === undefined) return caller.project;
  const known = await api.store.projects(caller.project);
  if (!sees(caller, project) || !known.some(({ path }) => path === project))
    throw notFound('project', project);
  return project;
}

export const otherProject = 'another project';

function viewOf({ nowMs, ...ledger }: Ledger, scope: string | null): LedgerView {
  const guaranteedKeys = keysGuaranteed(ledger);
  const at = time(nowMs);
  if (scope === null) return { ...ledger, at, guaranteedKeys };
  const seen = (path: string | null): boolean =>
    path !== null && (path === scope || path.startsWith(`${scope}/`));
  const named = (path: string | null): string | null => (path === null || seen(path) ? path : otherProject);
  return {
    ...ledger,
    at,
    guaranteedKeys,
    projects: ledger.projects.filter(({ project }) => seen(project)),
    lines: ledger.lines.filter(({ project }) => seen(project)),
    loans: ledger.loans
      .filter(({ from, to }) => seen(from) || seen(to))
      .map((loan) => ({ ...loan, from: named(loan.from), to: named(loan.to) ?? otherProject })),
    users: ledger.users.filter(({ project }) => seen(project)),
  };
}

function keysGuaranteed({ lines }: Pick<Ledger, 'lines'>): string[] {
  const some = lines.filter(({ guaranteed, written }) => (guaranteed ?? 0) > 0 || (written ?? 0) > 0);
  return [...new Set(some.map(({ key }) => key))].sort();
}

const getQuota = route({
  id: 'getQuota',
  method: 'GET',
  path: '/v1/quota',
  tag,
  summary: 'Who is guaranteed, holds, borrows and lends what',
  access: 'viewer',
  query: z.strictObject({ project: projectParam }),
  answers: { 200: ledgerSchema },
  async handle(api, { caller, query }) {
    const scope = await scopeOf(api, caller, query.project);
    const { sequence } = await api.store.head();
    return { body: viewOf(await api.control.ledger(sequence), scope) };
  },
});

const instant = (description: string) =>
  z
    .string()
    .max(40)
    .optional()
    .meta({ description: `${description}; an RFC 3339 time, or how long ago, such as 7d` });

const day = 86_400_000;

function instantMs(text: string | undefined, nowMs: number, otherwise: number): number {
  if (text === undefined) return otherwise;
  const ago = parseDurationMs(text);
  if (ago.ok) return nowMs - ago.value;
  const parsed = parseInstantMs(text);
  if (!parsed.ok)
    throw refuse(
      'bad-request',
      `"${text}" is neither a time nor a duration; write 7d or 2026-11-01T00:00:00Z`,
    );
  return parsed.value;
}

const getUsage = route({
  id: 'getUsage',
  method: 'GET',
  path: '/v1/usage',
  tag,
  summary: 'What was used in a period, by project, user, tier and resource, and what it costs',
  access: 'viewer',
  query: z.strictObject({
    project: projectParam,
    since: instant('start of the period; 30 days ago when left out'),
    until: instant('its end; now when left out'),
  }),
  answers: { 200: usageSchema },
  async handle(api, { caller, query }) {
    const nowMs = await api.store.nowMs();
    const fromMs = instantMs(query.since, nowMs, nowMs - 30 * day);
    const untilMs = Math.min(nowMs, instantMs(query.until, nowMs, nowMs));
    if (fromMs >= untilMs) throw refuse('bad-request', 'the period ends before it begins');
    const scope = await scopeOf(api, caller, query.project);
    const [rows, { policy }] = await Promise.all([
      api.store.usage({ scope, fromMs, untilMs }),
      api.tenancy.current(),
    ]);
    const lines = rows.map(({ project, user, tier, key, unitHoursMilli, runs }) => {
      const hours = key === 'memory' ? unitHoursMilli / 1024 / 1000 : unitHoursMilli / 1_000_000;
      return { project, user, tier, key, hours, runs, cost: costOf(policy, { tier, key, hours }) };
    });
    const body: UsageView = { from: time(fromMs), until: time(untilMs), lines };
    return { body };
  },
});

/**
 * At the list price of the policy in force: the first row that names this kind or model and no particular place, else the
 * general price. Kinds are the sum of their models and have no price of their own.
 */
function costOf(
  policy: Policy,
  { tier, key, hours }: Pick<UsageRow, 'tier' | 'key'> & { hours: number },
): number | null {
  const { prices, tiers } = policy;
  const factor = (tiers.find(({ name }) => name === tier)?.priceMilli ?? 1000) / 1000;
  if (key === 'cpu') return (hours * prices.coreHourMicro * factor) / 1_000_000;
  const [kind, model] = key.split('/');
  if (model === undefined) return null;
  // Without a place: a row that names one does not match.
  return (hours * deviceHourMicro(prices, {}, { kind: kind!, model }) * factor) / 1_000_000;
}

export const quotaRoutes = [getQuota, getUsage];
