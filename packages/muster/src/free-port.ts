// Whether a port can be had, asked before minutes are spent on making a database for a server that cannot listen.
import { createServer } from 'node:net';

export interface PortTrouble {
  /** Which of the two is to blame. */
  readonly setting: 'host' | 'port';
  readonly message: string;
}

export async function portTrouble(host: string, port: number, advice: string): Promise<PortTrouble | null> {
  const code = await new Promise<string | null>((resolve) => {
    const probe = createServer()
      .once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
      .listen(port, host, () => probe.close(() => resolve(null)));
  });
  switch (code) {
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return { setting: 'host', message: `${host} is not an address of this machine; give one that is` };
    case 'EACCES':
      return {
        setting: 'port',
        message: `port ${port} needs rights this process does not have; choose one above 1023`,
      };
    case 'EADDRINUSE':
      return { setting: 'port', message: `port ${port} on ${host} is in use; ${advice}` };
    default:
      return null;
  }
}
