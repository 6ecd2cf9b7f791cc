// A 64-bit hash in two 32-bit lanes, for plan hashes and state hashes: the same on every machine, good against accident,
// not against malice. Every value is framed by its kind or length, so that neighbours cannot run together.

const laneOne = 0x9e3779b1;
const laneTwo = 0x85ebca6b;
const smallBelow = 0x8000_0000;

export class Hasher {
  #a = 0x243f6a88;
  #b = 0x13198a2e;

  #mix(word: number): void {
    this.#a = rotated13(Math.imul(this.#a ^ word, laneOne));
    this.#b = rotated17(Math.imul(this.#b + word, laneTwo));
  }

  /** Two code units a word, after the length. The lanes stand by themselves meanwhile: a field would be written for each word. */
  text(value: string): this {
    const { length } = value;
    let a = rotated13(Math.imul(this.#a ^ length, laneOne));
    let b = rotated17(Math.imul(this.#b + length, laneTwo));
    for (let i = 0; i < length; i += 2) {
      const word = value.charCodeAt(i) | (i + 1 < length ? value.charCodeAt(i + 1) << 16 : 0);
      a = rotated13(Math.imul(a ^ word, laneOne));
      b = rotated17(Math.imul(b + word, laneTwo));
    }
    this.#a = a;
    this.#b = b;
    return this;
  }

  /** A whole number below 2^53; the sign counts. Small ones are one word, whose highest bit tells it from the first of two. */
  number(value: number): this {
    if (value >= 0 && value < smallBelow) {
      this.#mix(value);
      return this;
    }
    this.#mix(Math.floor(value / 0x1_0000_0000) | smallBelow);
    this.#mix(value | 0);
    return this;
  }

  optional(value: number | null): this {
    return value === null ? this.number(0) : this.number(1).number(value);
  }

  lanes(): readonly [number, number] {
    return [finish(this.#a ^ this.#b), finish(Math.imul(this.#b, laneOne) + this.#a)];
  }

  digest(): string {
    const [a, b] = this.lanes();
    return hex(a) + hex(b);
  }
}

/** The hash of a set: the sum of its items' hashes, so that no order has to be found first. */
export class SetHasher {
  #a = 0;
  #b = 0;
  #size = 0;

  add(item: Hasher): void {
    const [a, b] = item.lanes();
    this.#a = (this.#a + a) | 0;
    this.#b = (this.#b + b) | 0;
    this.#size++;
  }

  into(hasher: Hasher): void {
    hasher.number(this.#size).number(this.#a).number(this.#b);
  }
}

function rotated13(word: number): number {
  return (word << 13) | (word >>> 19);
}

function rotated17(word: number): number {
  return (word << 17) | (word >>> 15);
}

function finish(word: number): number {
  let w = word ^ (word >>> 16);
  w = Math.imul(w, 0x85ebca6b);
  w ^= w >>> 13;
  w = Math.imul(w, 0xc2b2ae35);
  return (w ^ (w >>> 16)) >>> 0;
}

const hexBytes: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, '0'),
);

function hex(word: number): string {
  const high = hexBytes[word >>> 24]! + hexBytes[(word >>> 16) & 255]!;
  return high + hexBytes[(word >>> 8) & 255]! + hexBytes[word & 255]!;
}
