// The sample that comes with the product: 3,000 jobs for 128 GPUs on nodes of 8, made by the generator, in `sample/`. Written by `npm run sample`;
// a test compares what is checked in with what would be written.
import { join } from 'node:path';
import { swfText } from './swf-text.ts';
import { synthetic } from './synthetic.ts';

export const sampleFile = join(import.meta.dirname, '../../sample/sample.swf');
export const sampleNodes = 16;
export const sampleDevicesPerNode = 8;

export function sampleText(): string {
  const devices = sampleNodes * sampleDevicesPerNode;
  const rows = synthetic({ seed: 1, jobs: 3000, devices, load: 0.95, longestMs: 2 * 24 * 3_600_000 });
  return swfText(rows, [
    ['Version', 2.2],
    ['Computer', `made up: ${sampleNodes} nodes of ${sampleDevicesPerNode} GPUs`],
    ['Note', 'written by "npm run sample" from seed 1; no real person submitted any of this'],
    ['MaxProcs', devices],
  ]);
}
