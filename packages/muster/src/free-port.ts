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
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    throw usage(`${host} is not an address of this machine; give one that is with --host`);
  if (code === 'EACCES')
    throw usage(`port ${port} needs rights this process does not have; choose one above 1023 with --port`);
  if (code === 'EADDRINUSE') throw usage(`port ${port} on ${host} is in use; ${advice}`);
}
