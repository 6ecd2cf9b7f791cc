// Who may be considered: for every project from the job's own to the root and every key it asks for, use and ask together
// stay within the ceiling; likewise for its user inside each project. Asked before placing with what is sure to be used,
// and after placing with what the chosen nodes make of it.
import type { OverCeiling } from '@muster/model';
import { none } from './project-amounts.ts';
import type { Project, Projects } from './projects.ts';
import type { Ask } from './resource-keys.ts';

/** The first project whose ceiling would be exceeded, from the job's own upwards; null when there is none. */
export function overAt(project: Project, user: string, ask: Ask): Project | null {
  // Asked twice for every job that is tried: by numbers, because the projects themselves lie far apart.
  const { parent, limits } = project.amounts;
  for (let id = project.id; id >= 0; id = parent[id]!)
    if (limits[id] === 1 && exceeds(project, id, user, ask)) return upTo(project, id);
  return null;
}

/** Whether a project's ceilings are, which is this one or above it. */
function exceeds(project: Project, id: number, user: string, { keys, amounts }: Ask): boolean {
  const { use, ceiling, userCeiling, width } = project.amounts;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    const at = id * width + key;
    if (ceiling[at] !== none && use[at]! + amounts[i]! > ceiling[at]!) return true;
    if (userCeiling[at] === none) continue;
    const own = upTo(project, id).userUse?.get(user)?.[key] ?? 0;
    if (own + amounts[i]! > userCeiling[at]!) return true;
  }
  return false;
}

function upTo(project: Project, id: number): Project {
  let at = project;
  while (at.id !== id) at = at.parent!;
  return at;
}

/** Every ceiling that is in the way of each of several alternatives; of one ceiling the least that is asked of it. */
export function allOverAny(
  projects: Projects,
  project: Project,
  user: string,
  asks: readonly Ask[],
): OverCeiling[] {
  const found = new Map<string, OverCeiling>();
  for (const ask of asks)
    for (const over of allOver(projects, project, user, ask)) {
      const name = `${over.project}|${over.key}|${over.user}`;
      const known = found.get(name);
      if (!known || over.asks < known.asks) found.set(name, over);
    }
  return [...found.values()];
}

/** What counts as gone of a project's use of a key. */
export type Gone = (at: Project, key: number) => number;

/** Keys of which the project's ceiling would be exceeded. */
function keysOver(at: Project, { keys, amounts }: Ask, gone: Gone): number[] {
  return keys.filter((key, i) => {
    const ceiling = at.ceiling(key);
    return ceiling !== none && at.use(key) - gone(at, key) + amounts[i]! > ceiling;
  });
}

/** Whether a user's ceiling is in the way: no victim is stopped for that. */
export function isUserOver(project: Project, user: string, { keys, amounts }: Ask): boolean {
  for (let at: Project | null = project; at !== null; at = at.parent) {
    const use = at.userUse?.get(user);
    const over = keys.some((key, i) => {
      const own = at!.userCeiling(key);
      return own !== none && (use?.[key] ?? 0) + amounts[i]! > own;
    });
    if (over) return true;
  }
  return false;
}

/** The lowest project whose ceiling would be exceeded, and all keys of which it or one above it would be; null for none. */
export function projectOver(project: Project, ask: Ask, gone: Gone): ProjectOver | null {
  let lowest: Project | null = null;
  const keys = new Set<number>();
  for (let at: Project | null = project; at !== null; at = at.parent) {
    if (!at.limits) continue;
    const over = keysOver(at, ask, gone);
    if (over.length > 0) lowest ??= at;
    for (const key of over) keys.add(key);
  }
  return lowest && { lowest, keys };
}

export interface ProjectOver {
  readonly lowest: Project;
  readonly keys: ReadonlySet<number>;
}

/** Every ceiling that is in the way: projects from the job's own upwards, keys by their texts. */
export function allOver({ keys: names }: Projects, project: Project, user: string, ask: Ask): OverCeiling[] {
  const found: OverCeiling[] = [];
  for (let at: Project | null = project; at !== null; at = at.parent) {
    if (!at.limits) continue;
    const userUse = at.userUse?.get(user);
    for (let i = 0; i < ask.keys.length; i++) {
      const key = ask.keys[i]!;
      const asks = ask.amounts[i]!;
      const add = (who: string | null, ceiling: number, use: number): void => {
        if (ceiling === none || use + asks <= ceiling) return;
        const code = 'over-ceiling';
        found.push({ code, project: at.path, user: who, key: names.texts[key]!, ceiling, use, asks });
      };
      add(null, at.ceiling(key), at.use(key));
      add(user, at.userCeiling(key), userUse?.[key] ?? 0);
    }
  }
  return found;
}
