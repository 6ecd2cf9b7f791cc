// Slurm's words for generic resources: `gpu:h100:4(S:0-1),shard:8` on a node, `gpu:h100:2(IDX:0-1)` in a job.

export interface Gres {
  readonly name: string;
  /** Empty where the site gave its devices no type. */
  readonly type: string;
  readonly count: number;
}

const item = /^([A-Za-z_][\w-]*)(?::([A-Za-z_][\w.-]*))?:(\d{1,9})(?:\([^()]*\))?$/;

/** Throws on what it cannot read: a count that is guessed would be sold. */
export function parseGres(text: string): Gres[] {
  if (text === '' || text === '(null)') return [];
  // A comma inside brackets belongs to a list of indices.
  return text.split(/,(?![^()]*\))/).map((part) => {
    const match = item.exec(part);
    if (!match) throw new Error(`cannot read the generic resource ${JSON.stringify(part.slice(0, 80))}`);
    return { name: match[1] as string, type: match[2] ?? '', count: Number(match[3]) };
  });
}
