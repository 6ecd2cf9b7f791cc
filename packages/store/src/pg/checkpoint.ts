// A run tells by the API that its work is saved. Its token is checked in the write, so that it is worth nothing once the
// run is over; and before it, because anybody can make up a token that names a run, and must not lock anything with it.
import type { Checkpoint, RunId } from '@muster/model';
import type { Outcome } from '../contract.ts';
import type { Database, Reader } from '../database.ts';
import { Changes } from '../rules/records.ts';
import { checkpointRun } from '../rules/run-rules.ts';
import { isOneOf, runOfToken } from '../run-token.ts';
import { applyChanges } from './apply.ts';
import { lockRuns } from './load.ts';

const tokensOf = {
  name: 'tokens-of-run',
  text: 'SELECT tokens FROM run WHERE id = $1 AND ended_ms IS NULL',
};

export async function isToken(reader: Reader, run: RunId, token: string): Promise<boolean> {
  const [row] = await reader.query<{ tokens: string[] }>(tokensOf, [run]);
  return row !== undefined && isOneOf(token, row.tokens);
}

export async function checkpoint(
  database: Database,
  token: string,
  saved: Checkpoint,
): Promise<Outcome<null, 'bad-token'>> {
  const id = runOfToken(token);
  if (id === null || !(await isToken(database, id, token)))
    return { outcome: 'refused', refusal: 'bad-token' };
  const { value, sequence } = await database.write(
    async (tx) => {
      const { runs } = await lockRuns(tx, [id]);
      const run = runs.get(id);
      if (!run || !(await isToken(tx, id, token))) return false;
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
