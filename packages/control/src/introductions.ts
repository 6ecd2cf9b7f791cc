// Which nodes of a cluster are about to say hello, and by which look. What a hello does not tell of a node counts as over, so it may
// only tell of a look that misses nothing which the cluster took before:
// 1. nothing is sent to the node any more, and no start is on its way there;
// 2. the session that the hello replaces is read, and what is kept of the cluster is brought up to now; that may take long, so it
//    happens beside the looks, and all other nodes are renewed meanwhile;
// 3. the first look that begins after that is told.
import type { NodeId } from '@muster/model';
import type { Store } from '@muster/store';

export interface IntroductionsDeps {
  readonly store: Pick<Store, 'nodeSessions'>;
  /** A look that begins after this misses nothing that was answered of these nodes before it. */
  readonly catchUp: (nodes: readonly NodeId[]) => Promise<void>;
  /** Starts that were sent to the node and not answered yet. */
  readonly underWay: (node: NodeId) => number;
  /** The next look is worth its while now. */
  readonly onPrepared: () => void;
}

export interface Prepared {
  /** The life of the controller in which that was done. */
  readonly boot: string;
  /** By node, the session that its hello replaces. */
  readonly replaces: ReadonlyMap<NodeId, string | null>;
}

export class Introductions {
  readonly #deps: IntroductionsDeps;
  /** Those to which nothing is sent. */
  readonly #nodes = new Set<NodeId>();
  #preparing: object | null = null;
  #prepared: Prepared | null = null;
  /** The last hellos were taken: where they are refused, the next wait for the next look. */
  #isWelcome = true;
  /** Of the database; that a cluster does not answer is met by the looks. */
  #failure: unknown = null;

  constructor(deps: IntroductionsDeps) {
    this.#deps = deps;
  }

  has(node: NodeId): boolean {
    return this.#nodes.has(node);
  }

  /** To be asked before a look. Throws what the last preparation failed with. */
  prepared(): Prepared | null {
    const failure = this.#failure;
    this.#failure = null;
    if (failure !== null) throw failure;
    return this.#prepared;
  }

  /** Those that were prepared have said hello, as far as they could. */
  done({ allRefused }: { readonly allRefused: boolean }): void {
    this.#isWelcome = !allRefused;
    this.#prepared = null;
    this.#nodes.clear();
  }

  /** These are to say hello, and no others. One preparation at a time. */
  prepare(nodes: readonly NodeId[], boot: string): void {
    if (this.#preparing !== null || this.#prepared !== null) return;
    this.#nodes.clear();
    for (const node of nodes) this.#nodes.add(node);
    const quiet = nodes.filter((node) => this.#deps.underWay(node) === 0);
    if (quiet.length > 0) void this.#prepare(quiet, boot);
  }

  /** Another server leads. */
  clear(): void {
    this.#preparing = null;
    this.#prepared = null;
    this.#failure = null;
    this.#isWelcome = true;
    this.#nodes.clear();
  }

  async #prepare(nodes: readonly NodeId[], boot: string): Promise<void> {
    const own = {};
    this.#preparing = own;
    const replaces = await this.#deps.store.nodeSessions(nodes).catch((error: unknown) => {
      if (this.#preparing === own) this.#failure = error;
      return null;
    });
    // Nothing is to be said of what was removed meanwhile.
    const caughtUp = replaces !== null && replaces.size > 0 && (await this.#catchUp([...replaces.keys()]));
    if (this.#preparing !== own) return;
    this.#preparing = null;
    if (caughtUp) this.#prepared = { boot, replaces };
    const hurries = this.#isWelcome;
    this.#isWelcome = true;
    if (hurries && (caughtUp || this.#failure !== null)) this.#deps.onPrepared();
  }

  async #catchUp(nodes: readonly NodeId[]): Promise<boolean> {
    try {
      await this.#deps.catchUp(nodes);
      return true;
    } catch {
      return false;
    }
  }
}
