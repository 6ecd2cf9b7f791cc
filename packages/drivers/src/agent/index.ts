export * from './connection.ts';
export * from './hub.ts';
