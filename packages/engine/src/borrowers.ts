// Which projects have something to give back, as use stands now (decision 0007, section 5): rights to reclaim rest on it.
import { tierNamed } from '@muster/model';
import { none } from './project-amounts.ts';
import type { Project } from './projects.ts';
import type { Ask } from './resource-keys.ts';
import type { State } from './state.ts';

/** Who has something to give back, worked out when first asked for and kept until somebody crosses a guarantee. */
export class Borrowers {
  readonly #state: State;
  readonly #texts = new Map<number, string>();
  #loose: Int32Array | null = null;
  #running: Uint8Array | null = null;

  constructor(state: State) {
    this.#state = state;
  }

  clear(): void {
    this.#texts.clear();
  }

  /** The children that borrow the key, and whether the project's own jobs use it; empty when nobody does. */
  of(project: Project, key: number): string {
    const known = this.#texts.get(project.id * 0x1_0000 + key);
    if (known !== undefined) return known;
    let text = project.ownUse(key) + project.ownKept(key) > 0 ? `${key}=own` : '';
    for (const child of project.children) if (borrows(child, key)) text += `${key}=${child.id};`;
    this.#texts.set(project.id * 0x1_0000 + key, text);
    return text;
  }

  /** Runs below the project in tiers that are not guaranteed, as the plan began. */
  loose({ id }: Project): number {
    this.#loose ??= this.#countLoose();
    return this.#loose[id] ?? 0;
  }

  /** Whether a run of the project's own was not being stopped as the plan began. */
  runsIn({ id }: Project): boolean {
    this.#running ??= this.#findRunning();
    return this.#running[id] === 1;
  }

  #countLoose(): Int32Array {
    const { table, projects, policy } = this.#state;
    const counts = new Int32Array(projects.all.length);
    for (const { project, tier, count } of table.groups) {
      if (count === 0 || tierNamed(policy, tier)?.guaranteed) continue;
      for (let at: Project | null = projects.all[project]!; at !== null; at = at.parent)
        counts[at.id]! += count;
    }
    return counts;
  }

  #findRunning(): Uint8Array {
    const { table, projects } = this.#state;
    const running = new Uint8Array(projects.all.length);
    for (const { project, count } of table.groups) if (count > 0) running[project] = 1;
    return running;
  }
}

/** Use without what is being stopped. */
export function useNow(project: Project, key: number): number {
  return project.use(key) - project.leaving(key);
}

/** Whether the project uses more of the key than is guaranteed to it; a common project's own jobs (null) always do. */
export function borrows(project: Project | null, key: number): boolean {
  return project === null || useNow(project, key) > Math.max(0, project.guaranteed(key));
}

export function staysWithinNow(project: Project, { keys, amounts }: Ask): boolean {
  let any = false;
  for (let i = 0; i < keys.length; i++) {
    const guaranteed = project.guaranteed(keys[i]!);
    if (guaranteed === none) continue;
    if (useNow(project, keys[i]!) + amounts[i]! > guaranteed) return false;
    any = true;
  }
  return any;
}
