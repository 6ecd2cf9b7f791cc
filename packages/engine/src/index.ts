export * from './engine.ts';
export { loadEngine } from './load.ts';
export { planHash } from './plan-hash.ts';
export { decideAgain, type ReplayInput } from './replay.ts';
export { encodeRows, RowsReader } from './snapshot.ts';
export { engineVersion } from './version.ts';
