// Whether a port can be had, asked before minutes are spent on making a database for a server that cannot listen.
import { createServer } from 'node:net';
import { usage } from '@muster/cli';

export async function requireFreePort(host: string, port: number, advice: string): Promise<void> {
  if (port === 0) return;
  const code = await new Promise<string | null>((resolve) => {
    const probe = createServer()
      .once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
      .listen(port, host, () => probe.close(() => resolve(null)));
  });
  // Other refusals have better words where the server really listens.
  if (code === 'EADDRINUSE') throw usage(`port ${port} on ${host} is in use; ${advice}`);
}
