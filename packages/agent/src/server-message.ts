// A cheap look at what the server sent: the server is trusted, but an agent must not fall over a bug or a newer release of
// it. Unknown types are ignored by the caller (a newer server may say more); known ones must have their fields.
import type { ServerMessage } from '@muster/model';

type Shape = Readonly<Record<string, 'number' | 'string' | 'object'>>;

const shapes: Readonly<Record<ServerMessage['type'], Shape>> = {
  challenge: { protocol: 'number', nonce: 'string' },
  welcome: { epoch: 'number', beatMs: 'number', nodeName: 'string' },
  renewed: { beat: 'number', live: 'object', beatMs: 'number' },
  start: { outbox: 'number', epoch: 'number', command: 'object' },
  stop: { outbox: 'number', epoch: 'number', command: 'object' },
  reported: { report: 'number' },
  read: { read: 'number', run: 'string', rank: 'number', offset: 'number', max: 'number', waitMs: 'number' },
  refused: { code: 'string', message: 'string' },
};

export type ReadMessage =
  | { readonly ok: true; readonly n: number; readonly message: ServerMessage | null }
  | { readonly ok: false; readonly why: string };

/** A null message is of a type this release does not know; its number counts. */
export function readServerMessage(text: string): ReadMessage {
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { ok: false, why: 'not JSON' };
  }
  if (typeof value !== 'object' || value === null) return { ok: false, why: 'not an object' };
  const { type, n } = value;
  if (typeof type !== 'string' || typeof n !== 'number') return { ok: false, why: 'no type or number' };
  if (!Object.hasOwn(shapes, type)) return { ok: true, n, message: null };
  for (const [field, kind] of Object.entries(shapes[type as ServerMessage['type']])) {
    if (typeof value[field] !== kind || value[field] === null)
      return { ok: false, why: `${type} without ${field}` };
  }
  const command = value.command as { run?: unknown } | undefined;
  if (command && typeof command.run !== 'string') return { ok: false, why: `${type} without a run` };
  return { ok: true, n, message: value as unknown as ServerMessage };
}
