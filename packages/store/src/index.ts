export * from './contract.ts';
export { keepsDatabase, makePassable } from './embedded/account.ts';
export { type Embedded, type EmbeddedOptions, startEmbedded } from './embedded/start-embedded.ts';
export { type OpenOptions, openStore, type PgStore } from './open-store.ts';
export type { AuditCheck } from './pg/audit.ts';
export { isAlive, ownIdentity, type ProcessIdentity } from './process-identity.ts';
