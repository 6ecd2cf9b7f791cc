// What projects use, have used and may use of every resource key. One row a project, as wide as there are keys, one typed array
// a column: a walk asks about another project at every turn, so that what it asks about has to lie close together, and sums of
// a whole fleet are no small integers, each of which would be an object of its own elsewhere.
import { grown } from './columns.ts';

/** No guarantee, or no ceiling. */
export const none = -1;

const counts = ['use', 'ownUse', 'ownKept', 'leaving', 'past', 'ownPast'] as const;
const bounds = ['guaranteed', 'ceiling', 'userCeiling'] as const;

export class ProjectAmounts {
  /** Keys that a row has room for; every key has a lower number. */
  width = 4;
  #rows = 0;
  /** By project: the one above it, -1 for the root; its weight; whether it or its users have ceilings. */
  parent = new Int32Array(0);
  weightMilli = new Float64Array(0);
  limits = new Uint8Array(0);
  /** Of the whole subtree, and of the project's own runs. */
  use = new Float64Array(0);
  ownUse = new Float64Array(0);
  /** Of its own jobs' claims, which count as use but not in the past. */
  ownKept = new Float64Array(0);
  /** Of use, what belongs to runs that are being stopped. */
  leaving = new Float64Array(0);
  /** Past use at the start of the present tick, likewise. */
  past = new Float64Array(0);
  ownPast = new Float64Array(0);
  /** `none` where there is none. */
  guaranteed = new Float64Array(0);
  ceiling = new Float64Array(0);
  userCeiling = new Float64Array(0);

  add(project: number, parent: number): void {
    this.#rows = project + 1;
    this.parent = grown(this.parent, this.#rows);
    this.parent[project] = parent;
    this.weightMilli = grown(this.weightMilli, this.#rows);
    this.weightMilli[project] = 1000;
    this.limits = grown(this.limits, this.#rows);
    const from = project * this.width;
    for (const name of counts) this[name] = grown(this[name], from + this.width);
    for (const name of bounds) this[name] = grown(this[name], from + this.width).fill(none, from);
  }

  /** Room for so many keys. */
  fit(keys: number): void {
    if (keys <= this.width) return;
    const before = this.width;
    while (this.width < keys) this.width *= 2;
    for (const name of counts) this[name] = this.#widened(this[name], before, 0);
    for (const name of bounds) this[name] = this.#widened(this[name], before, none);
  }

  copyFrom(other: ProjectAmounts): void {
    this.width = other.width;
    this.#rows = other.#rows;
    this.parent = other.parent.slice();
    this.weightMilli = other.weightMilli.slice();
    this.limits = other.limits.slice();
    for (const name of [...counts, ...bounds]) this[name] = other[name].slice();
  }

  #widened(column: Float64Array, before: number, blank: number): Float64Array<ArrayBuffer> {
    const wider = new Float64Array(this.#rows * this.width).fill(blank);
    for (let row = 0; row < this.#rows; row++)
      wider.set(column.subarray(row * before, (row + 1) * before), row * this.width);
    return wider;
  }
}
