// The formats that can be read. A new one is a file beside this one and a row here.
import { nearest } from '@muster/model';
import { musterLog } from './muster-log.ts';
import { openb } from './openb.ts';
import { philly } from './philly.ts';
import { swf } from './swf.ts';
import { type TraceFormat, TraceRefused } from './trace-format.ts';

export const formats: readonly TraceFormat[] = [swf, philly, openb, musterLog];

export function formatNamed(name: string): TraceFormat {
  const found = formats.find((format) => format.name === name);
  if (found) return found;
  const names = formats.map((format) => format.name);
  const near = nearest(name, names);
  throw new TraceRefused(
    `there is no format "${name}"; ${near ? `did you mean ${near}?` : `there are ${names.join(', ')}`}`,
  );
}
