// Growing typed arrays: a table of nodes or jobs is one array a column, indexed by slot.

type Column = Int32Array | Uint32Array | Uint16Array | Float64Array | Uint8Array;

/** The same values in an array of at least `size`; doubles, so that growing costs little overall. */
export function grown<T extends Column>(column: T, size: number): T {
  if (size <= column.length) return column;
  const Kind = column.constructor as new (length: number) => T;
  const wider = new Kind(Math.max(size, column.length * 2, 16));
  wider.set(column);
  return wider;
}
