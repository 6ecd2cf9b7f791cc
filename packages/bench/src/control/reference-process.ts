// Starts reference-server.ts as a process of its own, as the control plane has one.
import { join } from 'node:path';
import type { HttpTarget } from '../load/http-connection.ts';
import { type Child, messageOf, repository, startChild } from './child.ts';
import type { Bed } from './system.ts';

interface Reference {
  readonly child: Child;
  readonly target: HttpTarget;
}

export async function startReference(bed: Bed, databaseUrl: string): Promise<Reference> {
  const child = startChild(bed.lifetime, {
    file: join(repository, 'packages/bench/src/control/reference-server.ts'),
    env: { DATABASE_URL: databaseUrl },
  });
  const isPort = (message: unknown): message is { port: number } =>
    typeof message === 'object' && message !== null && 'port' in message;
  const { port } = await messageOf(child, 15_000, isPort);
  return { child, target: { host: '127.0.0.1', port } };
}
