// Randomness for ids, drawn ahead: nine bytes at a time from the system cost more than parsing a small job's JSON. Ids are
// names, not secrets; tokens never come from here.

export const idBytes = 9;
const idsAhead = 512;

export function createIdSource(random: (bytes: number) => Uint8Array): () => Uint8Array {
  let pool: Uint8Array = new Uint8Array();
  let at = 0;
  return () => {
    if (at === pool.length) {
      pool = random(idBytes * idsAhead);
      at = 0;
    }
    at += idBytes;
    return pool.subarray(at - idBytes, at);
  };
}
