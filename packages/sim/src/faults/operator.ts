// What operators do to a running system: they drain nodes and let work in again, take nodes out of the fleet, say that a machine
// is lost, and change the policy. They tell the truth: a machine that they say is lost has no power.
import type { NodeId, Policy } from '@muster/model';
import type { Store } from '@muster/store';
import type { Random } from '../random.ts';
import type { Machine } from '../world/machine.ts';
import type { VirtualWorld } from '../world/world.ts';
import type { Clients } from './clients.ts';
import { drawPolicy } from './workload.ts';

const wish = { by: 'ops', reason: 'look at it' };
const operator = 'ops';

export class Operators {
  readonly #world: VirtualWorld;
  readonly #clients: Clients;
  readonly #note: (line: string) => void;

  constructor(world: VirtualWorld, clients: Clients, note: (line: string) => void) {
    this.#world = world;
    this.#clients = clients;
    this.#note = note;
  }

  /** Draws everything that they will do. */
  script(random: Random, untilMs: number): void {
    this.#scriptDrains(random, untilMs);
    this.#scriptRemovals(random.split('removals'), untilMs);
    this.#scriptLosses(random.split('losses'), untilMs);
    this.#scriptPolicies(random.split('policies'), untilMs);
  }

  /** Once no request of before can come any more: a drain that was given up and repeated may have come twice. */
  letWorkIn(): void {
    for (const { node } of this.#world.machines) this.#at(20_000, () => this.#drain(node, null));
  }

  #scriptDrains(random: Random, untilMs: number): void {
    for (const { node } of this.#world.machines) {
      if (!random.chance(0.2)) continue;
      const atMs = random.below(untilMs);
      const forMs = random.below(60_000);
      // Let work onto it again only once it is known to be drained: a request that was given up may come later.
      this.#at(atMs, () => this.#drain(node, wish, () => this.#at(forMs, () => this.#drain(node, null))));
    }
  }

  /** Of machines that are drained, when nothing is left on them; two stay whatever happens. */
  #scriptRemovals(random: Random, untilMs: number): void {
    if (!random.chance(0.3)) return;
    for (const { node } of this.#world.machines.slice(2)) {
      if (!random.chance(0.4)) continue;
      const atMs = random.below(untilMs);
      const remove = (left: number): void =>
        this.#clients.ask(
          (store) => store.removeNode(node, operator),
          ({ outcome }) => {
            if (outcome === 'committed') this.#note(`${node} is removed`);
            else if (left > 0) this.#at(15_000, () => remove(left - 1));
            // Whoever gives up leaves nothing behind.
            else this.#drain(node, null);
          },
        );
      this.#at(atMs, () => this.#drain(node, wish, () => this.#at(random.below(30_000), () => remove(4))));
    }
  }

  #scriptLosses(random: Random, untilMs: number): void {
    for (let i = random.below(5); i > 0; i--)
      this.#at(random.below(untilMs), () => {
        for (const machine of this.#world.machines) if (!machine.on) this.#declareLost(machine);
      });
  }

  #declareLost(machine: Machine): void {
    this.#clients.ask(async (store) => {
      // It has power again: there is nothing to say any more.
      if (machine.on) return { outcome: 'refused' };
      this.#note(`${machine.deps.name} is said to be lost`);
      return store.declareLost(machine.node, operator);
    });
  }

  #scriptPolicies(random: Random, untilMs: number): void {
    if (!random.chance(0.4)) return;
    for (let i = 1 + random.below(4); i > 0; i--) {
      const policy = changedPolicy(random);
      this.#at(random.below(untilMs), () => this.#clients.ask((store) => setPolicy(store, policy)));
    }
  }

  #drain(node: NodeId, drain: typeof wish | null, then: () => void = () => {}): void {
    this.#clients.ask((store) => store.drain(node, drain, operator), then);
  }

  #at(ms: number, act: () => void): void {
    this.#world.scheduler.after(ms, act);
  }
}

/** The one that is there by now is replaced, whoever set it. */
async function setPolicy(store: Store, policy: Policy): Promise<{ readonly outcome: string }> {
  const { version } = await store.policy();
  return store.setPolicy(policy, version, operator);
}

const modes = ['easy', 'conservative', 'strict', 'skip'] as const;

/** Other ceilings, another order of backfill, and a guarantee more or less. */
function changedPolicy(random: Random): Policy {
  const policy = drawPolicy(random);
  const backfill = { mode: modes[random.below(modes.length)] ?? 'easy', depth: 1 + random.below(8) };
  const quotas = random.chance(0.3) ? policy.quotas.slice(1) : policy.quotas;
  return { ...policy, quotas, backfill };
}
