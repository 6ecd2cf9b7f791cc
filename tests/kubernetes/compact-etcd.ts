// Makes an etcd forget its past, so that no watch can be taken up where it was.
import type { TestKubernetes } from '@muster/drivers/testing';

export async function compactEtcd({ etcdUrl }: TestKubernetes): Promise<void> {
  const ask = async (what: string, body: object): Promise<{ header: { revision: string } }> => {
    const answer = await fetch(`${etcdUrl}/v3/kv/${what}`, { method: 'POST', body: JSON.stringify(body) });
    return (await answer.json()) as { header: { revision: string } };
  };
  const { header } = await ask('range', { key: Buffer.from('/').toString('base64') });
  await ask('compaction', { revision: header.revision, physical: true });
}
