// Where things lie when nobody says. Root's PostgreSQL and tasks run as other users, who cannot enter /root.
import { homedir } from 'node:os';
import { join } from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

export function defaultDir(env: Env, name: 'muster' | 'muster-agent'): string {
  if (env.XDG_STATE_HOME) return join(env.XDG_STATE_HOME, name);
  if (process.getuid?.() === 0) return join('/var/lib', name);
  return join(env.HOME || homedir(), '.local', 'state', name);
}
