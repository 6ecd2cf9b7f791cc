export * from './engine.ts';
export { loadEngine } from './load.ts';
export { engineVersion } from './version.ts';
