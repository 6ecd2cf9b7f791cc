// The database of a server: the one it was given, or a real PostgreSQL of its own below its directory.
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
  if (url !== undefined && url !== '')
    return { url, where: withoutPassword(url), embedded: false, stop: async () => {} };
  const embedded = await startEmbedded({ dir, log, keep: true });
  return {
    url: embedded.url,
    where: `embedded PostgreSQL in ${dir}`,
    embedded: true,
    stop: () => embedded.stop(),
  };
}

export function withoutPassword(url: string): string {
  try {
    const { protocol, host, pathname, searchParams } = new URL(url);
    return `${protocol}//${host || searchParams.get('host') || ''}${pathname}`;
  } catch {
    return 'the given database';
  }
}
