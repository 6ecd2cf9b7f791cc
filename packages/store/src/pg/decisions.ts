// The decision log. A row is written in the transaction that commits the plan, so that what was decided and what is logged are
// one thing; see packages/model/src/decision.ts for what makes it replayable.
import type { Decision, DecisionTrace, Plan, QuietDecide } from '@muster/model';
import type { DecisionQuery } from '../contract.ts';
import type { Database, Tx } from '../database.ts';

const insert = {
  name: 'insert-decision',
  text: `
INSERT INTO decision (epoch, sequence, now_ms, policy_version, engine_version, plan_hash, units, verdicts, applied, life,
  turn, quiet, committed_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
};

export async function writeDecision(
  tx: Tx,
  plan: Plan,
  trace: DecisionTrace | null,
  applied: number,
): Promise<void> {
  await tx.query(insert, [
    tx.epoch,
    plan.sequence,
    plan.nowMs,
    plan.policyVersion,
    plan.engineVersion,
    plan.hash,
    plan.units.length,
    plan.verdicts.length,
    applied,
    trace?.life ?? null,
    trace?.turn ?? null,
    trace && JSON.stringify(steps(trace.quiet, -1)),
    tx.nowMs,
  ]);
}

const columns = `id, epoch, sequence, now_ms AS "nowMs", policy_version AS "policyVersion", engine_version AS "engineVersion",
  plan_hash AS hash, units, verdicts, applied, life, turn, quiet`;
const read = {
  name: 'decisions',
  text: `
SELECT ${columns} FROM decision
WHERE id > $1 AND sequence >= $2 AND now_ms >= $3 AND life IS NOT NULL ORDER BY id LIMIT $4`,
};

export async function decisions(database: Database, query: DecisionQuery): Promise<Decision[]> {
  const { after, fromSequence, fromMs = 0, limit } = query;
  return (await database.query<Decision>(read, [after, fromSequence, fromMs, limit])).map(toDecision);
}

const life = {
  name: 'life-at',
  text: `SELECT ${columns} FROM decision WHERE sequence <= $1 AND turn = 0 ORDER BY sequence DESC, id DESC LIMIT 1`,
};

export async function lifeAt(database: Database, sequence: number): Promise<Decision | null> {
  const [row] = await database.query<Decision>(life, [sequence]);
  return row ? toDecision(row) : null;
}

function toDecision(row: Decision): Decision {
  return { ...row, quiet: steps(row.quiet, 1) };
}

/** Small differences instead of large numbers, and back: an idle day is tens of thousands of decides. */
function steps(quiet: readonly QuietDecide[], sign: 1 | -1): QuietDecide[] {
  let last: QuietDecide = [0, 0];
  return quiet.map(([sequence, nowMs]) => {
    const step: QuietDecide = [sequence + sign * last[0], nowMs + sign * last[1]];
    last = sign === 1 ? step : [sequence, nowMs];
    return step;
  });
}
