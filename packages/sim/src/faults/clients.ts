// People and their programs: each request is sent again until it is answered, to whichever server, with the same key. What was
// answered is what the control plane has promised.
import type { JobId } from '@muster/model';
import type { Store, Submit } from '@muster/store';
import type { Random } from '../random.ts';
import type { VirtualWorld } from '../world/world.ts';

export interface Promises {
  /** Jobs whose submit was acknowledged. */
  readonly submitted: Set<JobId>;
  /** Jobs whose cancel was acknowledged. */
  readonly cancelled: Set<JobId>;
}

const patienceMs = 8000;
const againMs = 700;

type Answer = { readonly outcome: string; readonly value?: unknown };

export class Clients {
  readonly promises: Promises = { submitted: new Set(), cancelled: new Set() };
  readonly #world: VirtualWorld;
  readonly #random: Random;
  readonly #onAcknowledged: (job: JobId) => void;
  #open = 0;

  constructor(world: VirtualWorld, random: Random, onAcknowledged: (job: JobId) => void) {
    this.#world = world;
    this.#random = random;
    this.#onAcknowledged = onAcknowledged;
  }

  /** Requests that are not answered yet. */
  get open(): number {
    return this.#open;
  }

  submit(item: Submit): void {
    const done = () => this.#acknowledged(item.id);
    this.#ask((store) => store.submit(item), done);
    // The network, or a proxy, may well send a request twice.
    if (this.#random.chance(0.1)) this.#ask((store) => store.submit(item), done);
  }

  cancel(job: JobId): void {
    this.#ask(
      (store) => store.cancel(job, 'ada'),
      (answer) => {
        if (answer.outcome === 'committed') this.promises.cancelled.add(job);
      },
    );
  }

  /** Any other request, until it is answered. */
  ask(request: (store: Store) => Promise<Answer>, then: (answer: Answer) => void = () => {}): void {
    this.#ask(request, then);
  }

  #acknowledged(job: JobId): void {
    if (this.promises.submitted.has(job)) return;
    this.promises.submitted.add(job);
    this.#onAcknowledged(job);
  }

  #ask(request: (store: Store) => Promise<Answer>, done: (answer: Answer) => void): void {
    this.#open++;
    let over = false;
    const attempt = (): void => {
      const { scheduler } = this.#world;
      const server = this.#anyServer();
      let waiting = true;
      const again = (): void => {
        if (!waiting) return;
        waiting = false;
        scheduler.after(againMs, () => !over && attempt());
      };
      if (!server?.store || !server.process.running) {
        again();
        return;
      }
      scheduler.after(patienceMs, again);
      request(server.store).then((answer) => {
        if (answer.outcome === 'unknown') return again();
        waiting = false;
        if (over) return;
        over = true;
        this.#open--;
        done(answer);
      }, again);
    };
    attempt();
  }

  #anyServer() {
    const { servers } = this.#world;
    return servers[this.#random.below(servers.length)];
  }
}
