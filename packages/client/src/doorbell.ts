// "Look again": rings that come while nobody waits are kept as one.

export interface Doorbell {
  ring(): void;
  /** Resolves at the next ring, or at once when it rang since the last time. */
  rung(): Promise<void>;
}

export function doorbell(): Doorbell {
  let rings = false;
  let wake: (() => void) | null = null;
  return {
    ring() {
      rings = true;
      wake?.();
    },
    async rung() {
      if (!rings) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      rings = false;
      wake = null;
    },
  };
}
