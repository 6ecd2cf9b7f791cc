// What every store must do, in words. The PostgreSQL store runs it on every server there is, the simulator's in-memory
// store runs the same.
import { describe } from 'vitest';
import { arraySuite } from './suite/array-suite.ts';
import { clusterSuite } from './suite/cluster-suite.ts';
import { decisionSuite } from './suite/decision-suite.ts';
import type { Harness } from './suite/harness.ts';
import { identitySuite } from './suite/identity-suite.ts';
import { leaderSuite } from './suite/leader-suite.ts';
import { moveSuite } from './suite/move-suite.ts';
import { nodeSuite } from './suite/node-suite.ts';
import { outboxSuite } from './suite/outbox-suite.ts';
import { planSuite } from './suite/plan-suite.ts';
import { policySuite } from './suite/policy-suite.ts';
import { preemptSuite } from './suite/preempt-suite.ts';
import { rebuildSuite } from './suite/rebuild-suite.ts';
import { runSuite } from './suite/run-suite.ts';
import { strikeSuite } from './suite/strike-suite.ts';
import { submitSuite } from './suite/submit-suite.ts';

export function contractSuite(harness: Harness): void {
  describe('submit', () => submitSuite(harness));
  describe('plans', () => planSuite(harness));
  describe('preemption', () => preemptSuite(harness));
  describe('moves', () => moveSuite(harness));
  describe('decisions and snapshots', () => decisionSuite(harness));
  describe('arrays', () => arraySuite(harness));
  describe('outbox', () => outboxSuite(harness));
  describe('runs', () => runSuite(harness));
  describe('nodes', () => nodeSuite(harness));
  describe('clusters', () => clusterSuite(harness));
  describe('strikes', () => strikeSuite(harness));
  describe('leadership', () => leaderSuite(harness));
  describe('rows and log', () => rebuildSuite(harness));
  describe('projects, tokens, audit', () => identitySuite(harness));
  describe('policy and usage', () => policySuite(harness));
}

export type { Harness };
