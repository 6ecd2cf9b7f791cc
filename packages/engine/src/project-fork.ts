// Where two projects part in the tree: what one may take of the other is a matter between the two subtrees there.
import type { Project } from './projects.ts';

/** The children of the lowest common project towards job and victim; null for the common project's own jobs. */
export interface Fork {
  readonly own: Project | null;
  readonly other: Project | null;
}

export function findFork(mine: Project, theirs: Project): Fork {
  const above = new Map<Project, Project | null>();
  let below: Project | null = null;
  for (let at: Project | null = mine; at !== null; at = at.parent) {
    above.set(at, below);
    below = at;
  }
  below = null;
  for (let at: Project | null = theirs; at !== null; at = at.parent) {
    const own = above.get(at);
    if (own !== undefined) return { own, other: below };
    below = at;
  }
  return { own: null, other: null };
}
