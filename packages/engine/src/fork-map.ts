// A map that is copied without copying: both sides keep reading what they had in common and write their own changes aside.
// A million job ids in a plain Map cost more to copy than everything else in a fork together.
//
// Until the first `fork` everything is in one plain Map. After it that Map is never written again; a side whose own
// changes have grown to a quarter of it makes itself a plain Map once more, so that reading stays one or two lookups.

export class ForkMap<K, V> {
  #common: Map<K, V>;
  /** Own changes since the fork; null while the common map is nobody else's. */
  #own: Map<K, V> | null;
  /** Keys of the common map that are gone here. */
  #gone: Set<K>;
  size: number;

  constructor() {
    this.#common = new Map();
    this.#own = null;
    this.#gone = new Set();
    this.size = 0;
  }

  fork(): ForkMap<K, V> {
    const other = new ForkMap<K, V>();
    this.#own ??= new Map();
    other.#common = this.#common;
    other.#own = new Map(this.#own);
    other.#gone = new Set(this.#gone);
    other.size = this.size;
    return other;
  }

  get(key: K): V | undefined {
    if (this.#own === null) return this.#common.get(key);
    const own = this.#own.get(key);
    if (own !== undefined || this.#gone.size === 0) return own ?? this.#common.get(key);
    return this.#gone.has(key) ? undefined : this.#common.get(key);
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  set(key: K, value: V): void {
    if (this.#own === null) {
      this.#common.set(key, value);
      this.size = this.#common.size;
      return;
    }
    if (!this.has(key)) this.size++;
    this.#own.set(key, value);
    this.#settle();
  }

  delete(key: K): void {
    if (this.#own === null) {
      this.#common.delete(key);
      this.size = this.#common.size;
      return;
    }
    if (!this.has(key)) return;
    this.size--;
    this.#own.delete(key);
    if (this.#common.has(key)) this.#gone.add(key);
    this.#settle();
  }

  /** In no order that a decision may rest on. */
  *entries(): IterableIterator<[K, V]> {
    if (this.#own === null) {
      yield* this.#common;
      return;
    }
    for (const entry of this.#common) if (!this.#own.has(entry[0]) && !this.#gone.has(entry[0])) yield entry;
    yield* this.#own;
  }

  *keys(): IterableIterator<K> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): IterableIterator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.entries();
  }

  #settle(): void {
    if (this.#own === null || (this.#own.size + this.#gone.size) * 4 < this.#common.size + 64) return;
    this.#common = new Map(this.entries());
    this.#own = null;
    this.#gone = new Set();
  }
}
