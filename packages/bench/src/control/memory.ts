// The most memory that a process had while it was watched.
import { type Child, rssMb, rssMbOrNull } from './child.ts';

export function watchMemory({ pid }: Child): { end(): void; peakMb(): number } {
  let peak = rssMb(pid);
  const timer = setInterval(() => {
    // Of one that has ended the requests tell.
    peak = Math.max(peak, rssMbOrNull(pid) ?? 0);
  }, 250);
  return {
    end: () => clearInterval(timer),
    peakMb: () => Math.max(peak, rssMbOrNull(pid) ?? 0),
  };
}
