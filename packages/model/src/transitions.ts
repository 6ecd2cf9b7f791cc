// The shape all state machines share: a table of which event may happen in which state and where it can lead. `step`
// consults the table before anything else, and the pictures in the docs are drawn from it, so neither can rot.

export type Transitions<State extends string, Event extends string> = {
  readonly [S in State]: { readonly [E in Event]?: readonly State[] };
};

/** Refusals are values: a late or repeated event is normal weather. */
export type Stepped<Entity, Reason extends string> =
  | { readonly ok: true; readonly next: Entity }
  | { readonly ok: false; readonly reason: Reason };

export function allows<S extends string, E extends string>(
  table: Transitions<S, E>,
  state: S,
  event: E,
): boolean {
  return table[state][event] !== undefined;
}

/** Mermaid text of a machine. */
export function stateDiagram<S extends string, E extends string>(
  table: Transitions<S, E>,
  initial: S,
  terminal: readonly S[],
): string {
  const lines = ['stateDiagram-v2', `  [*] --> ${initial}`];
  for (const state of Object.keys(table) as S[]) {
    for (const event of Object.keys(table[state]) as E[]) {
      for (const next of table[state][event] ?? []) lines.push(`  ${state} --> ${next}: ${event}`);
    }
  }
  for (const state of terminal) lines.push(`  ${state} --> [*]`);
  return lines.join('\n');
}
