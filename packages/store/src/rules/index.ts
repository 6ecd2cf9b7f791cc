// What a store without SQL shares with the one on PostgreSQL: the rules, which read and write nothing themselves.
export { CommitUnknown, outcomeUnknown, unavailable } from '../failure.ts';
export { groupCommit, type Lane, type Settled } from '../group-commit.ts';
export {
  known,
  lanes,
  looked,
  outcomeOf,
  outcomesOf,
  resultOf,
  type SessionAnswer,
  sessionOutcome,
} from '../outcomes.ts';
export { entryHash } from '../pg/entries.ts';
export { hashRunToken, isOneOf, runOfToken } from '../run-token.ts';
export * from './admin-rules.ts';
export * from './apply-plan-rules.ts';
export * from './array-rules.ts';
export * from './beat.ts';
export * from './cancel-rules.ts';
export * from './capacity-rules.ts';
export * from './change-rules.ts';
export * from './cluster-rules.ts';
export * from './failover-rules.ts';
export * from './job-view.ts';
export * from './lease-rules.ts';
export * from './move-rules.ts';
export * from './node-rules.ts';
export * from './outbox-rules.ts';
export * from './plan-rules.ts';
export * from './records.ts';
export * from './run-rules.ts';
export * from './start-command.ts';
export * from './strike-rules.ts';
