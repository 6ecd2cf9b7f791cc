// The one grammar of names. Names end up in paths, environment variables, Kubernetes objects and Slurm comments, so
// the set is what all of them take; free text belongs in `title`.

const namePattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const labelKeyPattern =
  /^([a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const labelValuePattern = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const envNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;
const modelPattern = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/** The grammars as text, for the JSON Schema that editors read. */
export const namePatterns = {
  name: namePattern.source,
  project: '^[a-z0-9-]{1,63}(/[a-z0-9-]{1,63}){0,7}$',
  labelKey: labelKeyPattern.source,
  labelValue: labelValuePattern.source,
  model: modelPattern.source,
} as const;

export const nameRule = 'lower-case letters, digits and inner hyphens, 1 to 63 characters';
export const projectRule = `names joined by "/", each of ${nameRule}, at most 8 levels`;

export const isName = (text: string): boolean => namePattern.test(text);
export const isLabelKey = (text: string): boolean => labelKeyPattern.test(text);
export const isLabelValue = (text: string): boolean => labelValuePattern.test(text);
export const isEnvName = (text: string): boolean => envNamePattern.test(text);
export const isAcceleratorModel = (text: string): boolean => modelPattern.test(text);

export function isProjectPath(text: string): boolean {
  const parts = text.split('/');
  return parts.length <= 8 && parts.every(isName);
}

const maxName = 63;
/** Of a name that had to be shortened. */
const tailChars = 8;

/** Our name of a node that its cluster calls otherwise: two clusters may use one name, and not in our grammar. */
export function nodeNameIn(cluster: string, knownAs: string): string {
  const plain = knownAs
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  const name = `${cluster}-${plain}`;
  if (name.length <= maxName && plain === knownAs) return name;
  // Shortened or changed: what tells it from others that look alike then is told by a few more characters.
  return `${name.slice(0, maxName - tailChars - 1).replace(/-$/, '')}-${textHash(knownAs)}`;
}

/** FNV-1a, as eight hexadecimal digits. */
function textHash(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(16).padStart(tailChars, '0');
}

/** Whole path segments only: `a` covers `a` and `a/b`, never `a-b`. */
export function projectCovers(scope: string, project: string): boolean {
  return project === scope || project.startsWith(`${scope}/`);
}

/**
 * What was probably meant: the candidate one slip away, else one that was left unfinished ("time" for "timeLimit"), else the
 * fewest slips away. Null when nothing is near.
 */
export function nearest(word: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return bestDistance <= 1 ? best : (unfinished(word, candidates) ?? best);
}

/** Fewer letters than these begin too many names. */
const unfinishedMin = 3;

/** The shortest candidate that begins with the word. */
function unfinished(word: string, candidates: readonly string[]): string | null {
  if (word.replace(/^-+/, '').length < unfinishedMin) return null;
  const start = word.toLowerCase();
  const begun = candidates.filter((candidate) => candidate.toLowerCase().startsWith(start));
  return begun.reduce<string | null>((a, b) => (a === null || b.length < a.length ? b : a), null);
}

/** Optimal string alignment distance (a swap of neighbours counts once), given up beyond `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let value = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        value = Math.min(value, (before[j - 2] ?? 0) + 1);
      row.push(value);
    }
    [before, previous] = [previous, row];
  }
  return previous[b.length] ?? limit;
}
