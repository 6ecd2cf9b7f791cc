// Apart from log.ts, so that flags can name the levels without loading the logger.
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export const logLevels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
