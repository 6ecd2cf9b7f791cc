// Slurm's short form of node names: `n[1-3,007-009]-ib,login` is n1-ib, n2-ib, n3-ib, n007-ib, n008-ib, n009-ib, login.

/** More names than any cluster has: a list that says otherwise is a mistake or an attack. */
const namesMax = 1_000_000;

/** Throws on what it cannot read: a name that is guessed would be a node that is not there. */
export function expandHostlist(text: string): string[] {
  // A comma inside brackets belongs to a list of numbers.
  const names = text.split(/,(?![^[\]]*\])/).flatMap((part) => expandPart(part, text));
  if (names.length > namesMax) throw unreadable(text);
  return names;
}

function expandPart(part: string, text: string): string[] {
  const pieces = part.split(/\[([\d,-]+)\]/);
  let names = [''];
  for (const [i, piece] of pieces.entries()) {
    const isNumbers = i % 2 === 1;
    if (!isNumbers && !/^[\w.-]*$/.test(piece)) throw unreadable(text);
    const endings = isNumbers ? piece.split(',').flatMap((range) => expandRange(range, text)) : [piece];
    if (names.length * endings.length > namesMax) throw unreadable(text);
    names = names.flatMap((name) => endings.map((ending) => name + ending));
  }
  if (names.includes('')) throw unreadable(text);
  return names;
}

function expandRange(range: string, text: string): string[] {
  const [, first, last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(range) ?? [];
  if (first === undefined || last === undefined) throw unreadable(text);
  const count = Number(last) - Number(first) + 1;
  if (count < 1 || count > namesMax) throw unreadable(text);
  // Leading zeros are part of the name.
  return Array.from({ length: count }, (_, i) => String(Number(first) + i).padStart(first.length, '0'));
}

function unreadable(text: string): Error {
  return new Error(`cannot read the list of nodes ${JSON.stringify(text.slice(0, 80))}`);
}
