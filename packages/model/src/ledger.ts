// The ledger: every number of quota, explained. Made by the engine from its own state, so that it says what decisions
// rest on. Amounts are in the unit of their key.

export interface LedgerLine {
  readonly project: string;
  readonly key: string;
  /** As the policy says it, in today's healthy capacity; null when it says nothing. */
  readonly written: number | null;
  /** What counts: its own or its children's together, cut to the ceiling and scaled down to what there is; null for none. */
  readonly guaranteed: number | null;
  readonly ceiling: number | null;
  /** From plan to proven end, of the whole subtree. */
  readonly use: number;
  /** Use above the guarantee. */
  readonly borrowed: number;
  /** Of its own unused guarantee, what its siblings use. */
  readonly lent: number;
  /** Average use in the past, by the policy's half-life; null for single models, which have none of their own. */
  readonly past: number | null;
}

/** `to` uses what is guaranteed to `from`; null: what is guaranteed to nobody. */
export interface Loan {
  readonly key: string;
  readonly from: string | null;
  readonly to: string;
  readonly amount: number;
}

export interface UserLine {
  readonly project: string;
  readonly user: string;
  readonly key: string;
  readonly use: number;
  readonly ceiling: number | null;
}

export interface LedgerProject {
  readonly project: string;
  readonly weightMilli: number;
  /** Weighted dominant share in millionths: of two siblings the lower one is served first. */
  readonly share: number;
  readonly waiting: number;
}

export interface Ledger {
  readonly sequence: number;
  readonly nowMs: number;
  readonly policyVersion: number;
  /** Sum over nodes that are ready and not draining. */
  readonly healthy: Readonly<Record<string, number>>;
  readonly projects: readonly LedgerProject[];
  readonly lines: readonly LedgerLine[];
  readonly loans: readonly Loan[];
  readonly users: readonly UserLine[];
}

/** As the API tells it. */
export interface LedgerView extends Omit<Ledger, 'nowMs'> {
  readonly at: string;
  /** Keys of which some project is guaranteed any, seen or not. Use of any other key is above no one's guarantee. */
  readonly guaranteedKeys: readonly string[];
}
