// A name that one process of this machine holds at a time, and that the kernel takes back when the process ends, however it ends: an
// abstract socket. So what belongs to a name that nobody holds was left by a run that was killed.
import { createServer } from 'node:net';

/** Gives what lets it go; null when a living process holds it. */
export function hold(name: string): Promise<(() => void) | null> {
  return new Promise((resolve, reject) => {
    const socket = createServer();
    socket.unref();
    socket.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(null) : reject(error),
    );
    socket.listen(`\0muster-test/${name}`, () => resolve(() => void socket.close()));
  });
}
