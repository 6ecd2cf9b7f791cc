export * from './builders.ts';
export * from './contract-suite.ts';
export * from './not-run.ts';
export * from './on-every-server.ts';
export * from './servers.ts';
