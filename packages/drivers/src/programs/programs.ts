// Runs programs from a small process. Node starts a program by a copy of the process that asks, and a server of half a gigabyte does
// nothing else for tens of milliseconds meanwhile (measure/start-programs.ts prints them): three hundred calls of sbatch were many
// seconds in which it answered nobody.
import { type ChildProcess, fork } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { ProgramEnd, ProgramMessage, ProgramRequest, RunMessage } from './messages.ts';

export interface Ended {
  readonly end: ProgramEnd;
  readonly printed: string;
  /** What it printed on its error stream. */
  readonly said: string;
}

interface Asked {
  readonly child: ChildProcess;
  readonly pieces: Uint8Array[];
  readonly timer: NodeJS.Timeout;
  readonly resolve: (ended: Ended) => void;
}

const nodeFlags = ['--max-semi-space-size=1', '--disable-warning=ExperimentalWarning'];
/** Beyond a program's own time, before the small process is held to hang. */
const hangsAfterMs = 5000;
/** Without type names in the path: the release build has .js files. */
const mainPath = fileURLToPath(
  new URL(`./main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
);

/** One for all who ask in this process; made when it is first needed, and again when it is gone. */
class Programs {
  readonly #asked = new Map<number, Asked>();
  #child: ChildProcess | null = null;
  #lastId = 0;

  run(request: ProgramRequest): Promise<Ended> {
    return new Promise((resolve) => {
      const child = this.#start();
      const id = ++this.#lastId;
      const timer = setTimeout(() => child.kill('SIGKILL'), request.timeoutMs + hangsAfterMs);
      this.#asked.set(id, { child, pieces: [], timer, resolve });
      child.channel?.ref();
      const message: RunMessage = { id, ...request };
      child.send(message, (error) => {
        if (error) this.#end(id, { kind: 'killed', message: error.message }, '');
      });
    });
  }

  #start(): ChildProcess {
    if (this.#child?.connected) return this.#child;
    const child = fork(mainPath, {
      // Not to be ended by the Ctrl-C that is meant for us: what is under way is seen through.
      detached: true,
      execArgv: nodeFlags,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: getCompileCacheDir() ?? '' },
    });
    this.#child = child;
    child.on('message', (message) => this.#told(message as ProgramMessage));
    child.once('error', (error) => this.#lost(child, error.message));
    child.once('exit', (code, signal) => this.#lost(child, `it ended with ${signal ?? code}`));
    child.unref();
    return child;
  }

  #told(message: ProgramMessage): void {
    if ('out' in message) this.#asked.get(message.id)?.pieces.push(message.out);
    else this.#end(message.id, message.end, message.said);
  }

  /** What it ran may go on without it, and nothing is known of that. */
  #lost(child: ChildProcess, why: string): void {
    if (this.#child === child) this.#child = null;
    const message = `the process that runs programs is gone: ${why}`;
    for (const [id, asked] of [...this.#asked])
      if (asked.child === child) this.#end(id, { kind: 'killed', message }, '');
  }

  #end(id: number, end: ProgramEnd, said: string): void {
    const asked = this.#asked.get(id);
    if (!asked) return;
    this.#asked.delete(id);
    clearTimeout(asked.timer);
    // With nothing asked for it keeps nobody from ending.
    if (![...this.#asked.values()].some(({ child }) => child === asked.child)) asked.child.channel?.unref();
    asked.resolve({ end, printed: Buffer.concat(asked.pieces).toString('utf8'), said });
  }
}

const programs = new Programs();

/** Rejects never: what could not be started is told as killed. */
export function runProgram(request: ProgramRequest): Promise<Ended> {
  return programs.run(request);
}
