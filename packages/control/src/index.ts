export * from './brain.ts';
export * from './control-plane.ts';
export * from './cycle.ts';
export * from './dispatch.ts';
export * from './expire.ts';

export * from './host/start.ts';
export * from './leader.ts';
export * from './learning.ts';
export * from './life.ts';
export * from './loop.ts';
export * from './mass-silence.ts';
export * from './observe.ts';
export * from './questions.ts';
export * from './replay.ts';
export * from './retention.ts';
export * from './snapshots.ts';
export * from './world.ts';
