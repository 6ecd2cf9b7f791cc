// A proxy in front of PostgreSQL that loses the answer to a COMMIT: the fault whose only honest answer is "unknown".
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** `forwarded`: the server commits, the answer is lost. `swallowed`: the COMMIT itself is lost. */
export type Loss = 'forwarded' | 'swallowed';

export interface CommitProxy {
  readonly url: string;
  /** The next COMMIT is lost this way, on whichever connection it comes. */
  lose(loss: Loss): void;
  /** How many were lost. */
  readonly lost: () => number;
  close(): Promise<void>;
}

const commit = Buffer.from('COMMIT\0');

export async function commitProxy(url: string): Promise<CommitProxy> {
  const parsed = /^postgres:\/\/([^@]*)@([^/]*)\/([^?]*)(?:\?host=(.*))?$/.exec(url);
  if (!parsed) throw new Error(`cannot proxy ${url}`);
  const [, user, hostPort, database, socketDir] = parsed;
  const [host, port] = (hostPort ?? '').split(':');
  const target = socketDir
    ? { path: `${decodeURIComponent(socketDir)}/.s.PGSQL.5432` }
    : { host: host ?? 'localhost', port: Number(port ?? 5432) };
  let armed: Loss | null = null;
  let lost = 0;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target as never);
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        open.delete(socket);
        cut();
      });
    }
    let losing = false;
    client.on('data', (chunk) => {
      if (armed !== null && chunk.includes(commit)) {
        const loss = armed;
        armed = null;
        lost++;
        losing = true;
        if (loss === 'swallowed') return cut();
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (!losing) client.write(chunk);
      // What goes before the COMMIT may travel with it, so its answers are no sign that the server got to it.
      else if (chunk.includes(commit)) cut();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const local = (server.address() as AddressInfo).port;
  return {
    url: `postgres://${user}@127.0.0.1:${local}/${database}`,
    lose(loss) {
      armed = loss;
    },
    lost: () => lost,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
