// What the programs of a cluster wrote last, for whoever reads of a failed test on a machine that is gone by then.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const lines = 15;
const width = 300;

/** Of every log in the cluster's directory. */
export function lastWords(dir: string): string {
  return readdirSync(dir)
    .filter((name) => /\.(out|log)$/.test(name))
    .toSorted()
    .map((name) => {
      const tail = readFileSync(join(dir, name), 'utf8').trimEnd().split('\n').slice(-lines);
      return [`--- ${name}`, ...tail.map((line) => line.slice(0, width))].join('\n');
    })
    .join('\n');
}
