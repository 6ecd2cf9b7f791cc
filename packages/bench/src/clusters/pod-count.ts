// Counts pods of a namespace as the API server tells of them. Lines of the watch are searched, not parsed, because whoever measures must
// not be what is measured.
import type { KubeClient } from '@muster/drivers/kubernetes';

export interface Followed {
  readonly broken: Error | null;
  close(): void;
}

const versionText = /"resourceVersion":"(\d+)"/;

/** Every line of a watch from now on. One that the API server ends, as it does with who is slow, is taken up where it stopped. */
export async function followPods(
  client: KubeClient,
  namespace: string,
  take: (line: string) => void,
  onPiece: () => void = () => {},
): Promise<Followed> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const { metadata } = (await client.call('GET', `${path}?limit=1`)) as {
    metadata: { resourceVersion: string };
  };
  const ending = new AbortController();
  let version = metadata.resourceVersion;
  let broken: Error | null = null;

  async function follow(): Promise<void> {
    const stream = await client.stream(`${path}?watch=true&resourceVersion=${version}`, ending.signal);
    let rest = '';
    for await (const piece of stream as AsyncIterable<Buffer>) {
      const lines = (rest + piece.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line.startsWith('{"type":"ERROR"')) throw new Error(line.slice(0, 300));
        version = versionText.exec(line)?.[1] ?? version;
        take(line);
      }
      onPiece();
    }
  }

  async function followOn(): Promise<void> {
    while (!ending.signal.aborted) await follow();
  }
  followOn().catch((error: unknown) => {
    if (ending.signal.aborted) return;
    broken = new Error(`the count of pods broke: ${error instanceof Error ? error.message : String(error)}`);
    onPiece();
  });
  return {
    get broken() {
      return broken;
    },
    close: () => ending.abort(),
  };
}

export type Reached = 'bound' | 'running';

export interface PodCount {
  /** Resolves when so many have come so far; rejects when the watch ends before. */
  until(reached: Reached, count: number, withinMs: number): Promise<void>;
  close(): void;
}

const uidText = /"uid":"([^"]+)"/;
const signs: Readonly<Record<Reached, string>> = { bound: '"nodeName":"', running: '"phase":"Running"' };

export async function countPods(client: KubeClient, namespace: string): Promise<PodCount> {
  const seen: Record<Reached, Set<string>> = { bound: new Set(), running: new Set() };
  let look: () => void = () => {};
  const followed = await followPods(
    client,
    namespace,
    (line) => {
      const uid = uidText.exec(line)?.[1] ?? '';
      for (const reached of ['bound', 'running'] as const)
        if (line.includes(signs[reached])) seen[reached].add(uid);
    },
    () => look(),
  );
  return {
    until(reached, count, withinMs) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(
          () =>
            reject(new Error(`${seen[reached].size} of ${count} pods are ${reached} after ${withinMs} ms`)),
          withinMs,
        );
        look = () => {
          if (!followed.broken && seen[reached].size < count) return;
          clearTimeout(timer);
          if (followed.broken) reject(followed.broken);
          else resolve();
        };
        look();
      });
    },
    close: () => followed.close(),
  };
}
