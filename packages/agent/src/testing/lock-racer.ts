// Takes locks against other processes, one after the other, each at a moment that all of them know; prints which it got and
// stays alive, because the locks of the dead may be taken. Started as `node lock-racer.ts <dir> <locks> <first moment> <step>`.
import { join } from 'node:path';
import { takeLock } from '../supervisor/lock.ts';

const [dir = '', locks, firstMs, stepMs] = process.argv.slice(2);
const got: number[] = [];
for (let i = 0; i < Number(locks); i++) {
  while (Date.now() < Number(firstMs) + i * Number(stepMs));
  if (takeLock(join(dir, String(i)))) got.push(i);
}
console.log(JSON.stringify(got));
process.stdin.resume();
