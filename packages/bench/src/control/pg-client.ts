// A plain connection to the database, for references. An idle one that breaks, as on Ctrl-C when the database goes first, is
// nobody's crash: whoever uses it next is told.
import pg from 'pg';

export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end().catch(() => {});
  }
}
