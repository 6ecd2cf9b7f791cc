// The highest epoch that a command came with, kept in the cluster: in one ConfigMap, which every server watches and raises by
// comparing its version. A command with an older one is refused. The watch is a moment behind; what that moment lets through is
// still held by the names and uids of the pods.
import * as z from 'zod';
import type { KubeClient } from './client.ts';
import { has } from './pods.ts';
import { watch } from './watched.ts';

export interface Epochs {
  /** False when a command with a higher epoch came before. */
  admit(epoch: number): Promise<boolean>;
  close(): void;
}

const name = 'muster-epoch';
const record = z.object({
  metadata: z.object({ resourceVersion: z.string() }),
  data: z.object({ epoch: z.string().regex(/^\d{1,15}$/) }),
});

export function epochsIn(client: KubeClient, namespace: string): Epochs {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const query = { fieldSelector: `metadata.name=${name}` };
  const watched = watch(client, { path, query, read: (object) => record.parse(object) });
  let highest = 0;
  /** Many commands of a new epoch come together; one of them raises it for all. */
  const raising = new Map<number, Promise<boolean>>();

  function raiseOnce(epoch: number): Promise<boolean> {
    const under = raising.get(epoch) ?? raise(epoch).finally(() => raising.delete(epoch));
    raising.set(epoch, under);
    return under;
  }

  async function raise(epoch: number): Promise<boolean> {
    for (;;) {
      const held = await current();
      highest = Math.max(highest, held ? Number(held.data.epoch) : 0);
      if (highest >= epoch) return highest === epoch;
      const object = { apiVersion: 'v1', kind: 'ConfigMap', data: { epoch: String(epoch) } };
      try {
        if (held)
          await client.call('PUT', `${path}/${name}`, {
            ...object,
            metadata: { name, resourceVersion: held.metadata.resourceVersion },
          });
        else await client.call('POST', path, { ...object, metadata: { name } });
        highest = Math.max(highest, epoch);
        return highest === epoch;
      } catch (error) {
        // Somebody else was there first: look again.
        if (!has(error, 409)) throw error;
      }
    }
  }

  async function current(): Promise<z.infer<typeof record> | null> {
    try {
      return record.parse(await client.call('GET', `${path}/${name}`));
    } catch (error) {
      if (has(error, 404)) return null;
      throw error;
    }
  }

  return {
    async admit(epoch) {
      for (const { data } of (await watched.all()).values()) highest = Math.max(highest, Number(data.epoch));
      if (epoch < highest) return false;
      return epoch === highest || raiseOnce(epoch);
    },
    close: () => watched.close(),
  };
}
