// Whose the namespace is (owner.ts), and the highest epoch that a command came with, kept in the cluster: in one ConfigMap, which every
// server watches and changes by comparing its version. A command with an older epoch is refused, and in a namespace of another's nothing is
// done. The watch is a moment behind; what that moment lets through is still held by the names, marks and uids of the pods.
import * as z from 'zod';
import { checkClaim, type Ownership, othersPlace, ownerSchema } from '../owner.ts';
import type { KubeClient } from './client.ts';
import { has } from './pods.ts';
import { watch } from './watched.ts';

export interface Epochs {
  /** Rejects where the namespace is another's. */
  checkOwner(): Promise<void>;
  /** False when a command with a higher epoch came before. */
  admit(epoch: number): Promise<boolean>;
  close(): void;
}

const name = 'muster-epoch';
const record = z.object({
  metadata: z.object({ resourceVersion: z.string() }),
  data: z.object({ epoch: z.string().regex(/^\d{1,15}$/), ...ownerSchema.shape }),
});
type Held = z.infer<typeof record>;

export function epochsIn(client: KubeClient, namespace: string, ownership: Ownership): Epochs {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const query = { fieldSelector: `metadata.name=${name}` };
  const watched = watch(client, { path, query, read: (object) => record.parse(object) });
  let highest = 0;
  /** Our mark was there: who takes it off now does not make the namespace another one. */
  let marked = false;
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
      if (held) checkHeld(held);
      highest = Math.max(highest, held ? Number(held.data.epoch) : 0);
      if (highest >= epoch) return highest === epoch;
      if (await write(epoch, held)) highest = Math.max(highest, epoch);
    }
  }

  /** False when somebody else was there first: look again. */
  async function write(epoch: number, held: Held | null): Promise<boolean> {
    if (!held && !marked) await checkClaim(`the namespace ${namespace}`, ownership, marking());
    const data = { ...ownership.owner, epoch: String(epoch) };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', data };
    try {
      if (held)
        await client.call('PUT', `${path}/${name}`, {
          ...object,
          metadata: { name, resourceVersion: held.metadata.resourceVersion },
        });
      else await client.call('POST', path, { ...object, metadata: { name } });
      marked = true;
      return true;
    } catch (error) {
      if (!has(error, 409)) throw error;
      return false;
    }
  }

  function checkHeld({ data }: Held): void {
    const free = `delete what it left (kubectl delete configmap ${name} --namespace ${namespace})`;
    if (!ownership.isOwn(data)) throw othersPlace(`the namespace ${namespace}`, data, ownership, free);
    marked = true;
  }

  function marking(): string {
    const literals = Object.entries({ epoch: '0', ...ownership.owner }).map(
      ([key, value]) => `--from-literal=${key}=${value}`,
    );
    return `mark it (kubectl create configmap ${name} --namespace ${namespace} ${literals.join(' ')})`;
  }

  async function checkOwner(): Promise<void> {
    const [seen] = (await watched.all()).values();
    if (seen) checkHeld(seen);
    if (!ownership.claims || seen?.data.cluster === ownership.owner.cluster) return;
    // Nobody's yet, or kept under a name that our installation no longer has. Of now, because the watch is behind.
    const held = await current();
    if (held) checkHeld(held);
    if (held?.data.cluster !== ownership.owner.cluster) await write(Number(held?.data.epoch ?? 0), held);
  }

  async function current(): Promise<Held | null> {
    try {
      return record.parse(await client.call('GET', `${path}/${name}`));
    } catch (error) {
      if (has(error, 404)) return null;
      throw error;
    }
  }

  return {
    checkOwner,
    async admit(epoch) {
      for (const held of (await watched.all()).values()) {
        checkHeld(held);
        highest = Math.max(highest, Number(held.data.epoch));
      }
      if (epoch < highest) return false;
      return epoch === highest || raiseOnce(epoch);
    },
    close: () => watched.close(),
  };
}
