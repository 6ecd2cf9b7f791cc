// Lets so many calls run at once; the others wait in the order in which they came. A plan may start a thousand jobs: a thousand
// processes of sbatch at once take more memory than a server has, and of a thousand calls the last would be given up before it was sent.

export function fewAtOnce(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;

  async function turn(): Promise<void> {
    if (running++ < most) return;
    running--;
    // Whoever ends hands its place over, so that nobody who comes meanwhile takes it.
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  return async (work) => {
    await turn();
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
