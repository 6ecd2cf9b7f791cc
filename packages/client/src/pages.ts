// Lists come in pages with an opaque cursor; most callers want the items one after another.
import type { Page } from '@muster/model';

export async function* pages<T>(
  load: (cursor: string | null) => Promise<Page<T>>,
): AsyncGenerator<T, void, void> {
  let cursor: string | null = null;
  do {
    const page: Page<T> = await load(cursor);
    yield* page.items;
    cursor = page.next;
  } while (cursor !== null);
}
