export * from './connection.ts';
export * from './hub.ts';
export type { RefusalCode, RefusedCount } from './refusals.ts';
