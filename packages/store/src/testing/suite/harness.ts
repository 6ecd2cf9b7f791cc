// What the contract suite needs of a store under test.
import type { Store } from '../../contract.ts';

export interface Harness {
  /** A store on an empty database of its own. */
  store(): Promise<Store>;
  /** Lets this much of the store's time go by. */
  pass(ms: number): Promise<void>;
}
