// Logs of the parts of the system: JSON lines for machines, to a file or to stdout; on a terminal, short lines for people.
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { OutStream } from '@muster/cli';
import { destination, type Logger, multistream, pino, stdTimeFunctions } from 'pino';
import { BoundedFile } from './bounded-file.ts';
import type { LogLevel } from './log-levels.ts';

const options = { base: null, timestamp: stdTimeFunctions.isoTime };

/** JSON lines to stdout, or lines for people where stdout is a terminal. */
export function streamLog(stdout: OutStream, level: LogLevel): Logger {
  return stdout.isTTY
    ? pino({ ...options, level }, humanLines(stdout, ''))
    : pino({ ...options, level }, destination({ fd: 1, sync: true }));
}

/** With the one before it, a system's log takes twice this: an idle one writes next to nothing, a busy one may fill it in days. */
const logBytesMax = 64 * 1024 * 1024;

/** Everything to the file; what a person must see also to the terminal. */
export function fileLog(
  file: string,
  level: LogLevel,
  terminal: OutStream,
  bytesMax: number = logBytesMax,
): Logger {
  mkdirSync(dirname(file), { recursive: true });
  return pino(
    { ...options, level },
    multistream([
      { level, stream: new BoundedFile(file, bytesMax) },
      { level: 'error', stream: humanLines(terminal, 'muster: ') },
    ]),
  );
}

const names: Readonly<Record<number, string>> = {
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

function humanLines(out: OutStream, prefix: string): { write(line: string): void } {
  return {
    write(line) {
      const { level, time, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const cause = (err as { message?: string } | undefined)?.message;
      const fields = Object.entries(rest).map(
        ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      );
      const head =
        prefix === '' ? `${String(time).slice(11, 19)} ${(names[Number(level)] ?? '').padEnd(5)} ` : prefix;
      out.write(
        `${head}${msg}${cause === undefined ? '' : `: ${cause}`}${fields.length === 0 ? '' : `  ${fields.join(' ')}`}\n`,
      );
    },
  };
}
