// Whose a run's token is. A store of checkpoints asks this of a token that it has not seen, so that nobody can say of himself that he is a
// newer attempt than he is; of a run that is over the token is worth nothing.
import { parseRunId } from '@muster/model';
import type { OwnRun } from '../contract.ts';
import type { Database } from '../database.ts';
import { runOfToken } from '../run-token.ts';
import { isToken } from './checkpoint.ts';

export async function ownRun(database: Database, token: string): Promise<OwnRun | null> {
  const run = runOfToken(token);
  const of = run && parseRunId(run);
  return of && (await isToken(database, run, token)) ? { run, ...of } : null;
}
