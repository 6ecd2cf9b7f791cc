// Which process a server is, so that another can tell that it is dead. Pids are compared only inside one boot of one
// machine and one pid namespace: two containers of a host must not take each other for dead.
import { isAlive, ownIdentity, type ServerInfo } from '@muster/store';

export type ServerProcess = Pick<ServerInfo, 'bootId' | 'pid' | 'pidStart'>;

export function thisProcess(): ServerProcess {
  const { pid, start, namespace } = ownIdentity();
  // On Linux a start time begins with the boot's id; elsewhere there is none, and nobody is ever called dead.
  const boot = process.platform === 'linux' ? start.slice(0, start.lastIndexOf(':')) : 'unknown';
  return { bootId: `${boot} ${namespace ?? ''}`.trim(), pid, pidStart: start };
}

/** True only when the process ran here, on this boot and in this namespace, and is gone. */
export function isProcessDead(other: ServerProcess, own: ServerProcess = thisProcess()): boolean {
  if (own.bootId !== other.bootId || other.bootId.startsWith('unknown')) return false;
  return !isAlive({ pid: other.pid, start: other.pidStart, namespace: null });
}
