// The real terminal of this process, for the CLI. A reader that goes away (muster ps | head) ends the program without a word,
// as any filter would.
import { exit, Interrupts, type Terminal } from '@muster/cli';

export function processTerminal(): Terminal {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      // The terminal is gone: who stops in good order at SIGHUP has nobody to tell.
      if (error.code === 'EIO' && process.listenerCount('SIGHUP') > 0) return;
      process.exit(error.code === 'EPIPE' ? exit.brokenPipe : exit.failed);
    });
  const interrupts = new Interrupts(() => process.exit(exit.interrupted));
  process.on('SIGINT', interrupts.interrupt);
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: workingDirectory(),
    nowMs: Date.now,
    onInterrupt: interrupts.on,
  };
}

/** The folder may have been removed under us; only `run` needs it, and the server says what is wrong with "/". */
function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}

/** Ends the process once everything printed has left it. */
export async function leave(code: number): Promise<never> {
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  process.exit(code);
}
