// Two documents compared, value by value: one line for each that is another, with its place. Lists of things with a name
// (tiers, quotas) are compared by that name, so that an inserted one does not make all others differ.

type Plain = Readonly<Record<string, unknown>>;

export function differences(before: unknown, after: unknown, at = ''): string[] {
  if (same(before, after)) return [];
  if (isPlain(before) && isPlain(after))
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
      differences(before[key], after[key], at === '' ? key : `${at}.${key}`),
    );
  const [was, is] = [byName(before), byName(after)];
  if (was && is) {
    const gone = [...was.keys()].filter((name) => !is.has(name));
    return [
      ...gone.map((name) => `- ${at}[${name}]`),
      ...[...is].flatMap(([name, item]) =>
        was.has(name)
          ? differences(was.get(name), item, `${at}[${name}]`)
          : [`+ ${at}[${name}] ${show(item)}`],
      ),
    ];
  }
  if (before === undefined) return [`+ ${at} ${show(after)}`];
  if (after === undefined) return [`- ${at} ${show(before)}`];
  return [`~ ${at} ${show(before)} -> ${show(after)}`];
}

function byName(value: unknown): Map<string, unknown> | null {
  if (!Array.isArray(value)) return null;
  const named = value.map((item) => {
    const { name, project } = isPlain(item) ? item : {};
    return [typeof name === 'string' ? name : project, item] as const;
  });
  if (named.some(([name]) => typeof name !== 'string')) return null;
  return new Map(named as [string, unknown][]);
}

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
