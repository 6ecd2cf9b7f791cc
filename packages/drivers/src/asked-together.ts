// One answer for all who ask before a question is sent. A stop has to look at what its cluster lists now; of a thousand stops each would
// list everything.

/** The question begins after every call that gets its answer; those who come while one is under way share the next. */
export function askedTogether<T>(ask: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | null = null;
  return () => {
    next ??= running.then(() => {
      next = null;
      const asked = ask();
      running = asked.catch(() => {});
      return asked;
    });
    return next;
  };
}
