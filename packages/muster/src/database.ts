// The database of a server: the one it was given, or a real PostgreSQL of its own below its directory.
import { usage } from '@muster/cli';
import { startEmbedded } from '@muster/store';

export interface Database {
  readonly url: string;
  /** For people: where it is, without its password. */
  readonly where: string;
  readonly embedded: boolean;
  stop(): Promise<void>;
}

export async function openDatabase(
  url: string | undefined,
  dir: string,
  log: (line: string) => void,
): Promise<Database> {
  if (url !== undefined && url !== '') {
    if (!isDatabaseUrl(url)) throw usage(`the database URL (DATABASE_URL) ${databaseUrlRule}`);
    return { url, where: withoutPassword(url), embedded: false, stop: async () => {} };
  }
  const embedded = await startEmbedded({ dir, log, keep: true });
  return {
    url: embedded.url,
    where: `embedded PostgreSQL in ${dir}`,
    embedded: true,
    stop: () => embedded.stop(),
  };
}

export const databaseUrlRule = 'must look like postgres://user:password@host:5432/database';

/** Anything else is taken for the name of a database on some host, and fails far from its cause. */
export function isDatabaseUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

export function withoutPassword(url: string): string {
  try {
    const { protocol, host, pathname, searchParams } = new URL(url);
    return `${protocol}//${host || searchParams.get('host') || ''}${pathname}`;
  } catch {
    return 'the given database';
  }
}
