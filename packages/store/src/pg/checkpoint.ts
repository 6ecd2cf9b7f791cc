// A run tells by the API that its work is saved. Its token is checked in the write, so that it is worth nothing once the
// run is over.
import type { Checkpoint } from '@muster/model';
import type { Outcome } from '../contract.ts';
import type { Database } from '../database.ts';
import { Changes } from '../rules/records.ts';
import { checkpointRun } from '../rules/run-rules.ts';
import { isOneOf, runOfToken } from '../run-token.ts';
import { applyChanges } from './apply.ts';
import { lockRuns } from './load.ts';

const tokensOf = {
  name: 'tokens-of-run',
  text: 'SELECT tokens FROM run WHERE id = $1 AND ended_ms IS NULL',
};

export async function checkpoint(
  database: Database,
  token: string,
  saved: Checkpoint,
): Promise<Outcome<null, 'bad-token'>> {
  const id = runOfToken(token);
  if (id === null) return { outcome: 'refused', refusal: 'bad-token' };
  const { value, sequence } = await database.write(
    async (tx) => {
      const { runs } = await lockRuns(tx, [id]);
      const run = runs.get(id);
      const [row] = await tx.query<{ tokens: string[] }>(tokensOf, [id]);
      if (!run || !row || !isOneOf(token, row.tokens)) return false;
      const changes = new Changes(tx.nowMs);
      checkpointRun(changes, run, saved, 0);
      await applyChanges(tx, changes);
      return true;
    },
    { fenced: true },
  );
  return value
    ? { outcome: 'committed', sequence, value: null }
    : { outcome: 'refused', refusal: 'bad-token' };
}
