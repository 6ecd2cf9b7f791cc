// Writes down whether a cluster answers, on the server that leads; and lets go of what ran in one that is lost, where its older attempts
// can no longer write.
import type { ClusterSign } from '@muster/model';
import type { Store } from '@muster/store';
import type { World } from './world.ts';

export interface ClusterHealthDeps {
  readonly world: World;
  readonly store: Pick<Store, 'noteCluster' | 'failOver'>;
  readonly name: string;
  readonly epoch: () => number | null;
}

/** An answer is written down at least so often, and so is silence. */
const noteEveryMs = 15_000;

/**
 * To be called after every look. Silence is counted from when this was made, because a new leader counts anew, and until the look that
 * failed began: one that was under way while this server was stopped for a while proves no more than that.
 */
export function clusterHealth({ world, store, name, epoch }: ClusterHealthDeps) {
  let answeredAtMs = world.clock.monotonicMs();
  let notedAtMs = Number.NEGATIVE_INFINITY;
  let noted: ClusterSign['kind'] | null = null;

  async function failOver(leading: number): Promise<void> {
    const answer = await store.failOver(leading, name);
    if (answer.outcome !== 'committed' || answer.value.length === 0) return;
    world.log.warn(
      { cluster: name, runs: answer.value },
      `cluster ${name} is lost: ${answer.value.length} runs there can no longer write, and start elsewhere`,
    );
  }

  return async (beganMs: number, error: Error | null): Promise<void> => {
    const nowMs = world.clock.monotonicMs();
    if (!error) answeredAtMs = nowMs;
    const sign: ClusterSign = error
      ? {
          kind: 'silence',
          forMs: Math.max(0, Math.round(beganMs - answeredAtMs)),
          why: error.message.split('\n', 1)[0]!.slice(0, 500),
        }
      : { kind: 'answer' };
    const leading = epoch();
    if (leading === null || (sign.kind === noted && nowMs - notedAtMs < noteEveryMs)) return;
    const answer = await store.noteCluster(leading, name, sign);
    if (answer.outcome !== 'committed') return;
    [noted, notedAtMs] = [sign.kind, nowMs];
    // Each time anew: the nodes of a lost cluster fall silent one by one.
    if (answer.value.state === 'lost') await failOver(leading);
  };
}
