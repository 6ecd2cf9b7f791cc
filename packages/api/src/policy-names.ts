// Names in a policy that only a server can judge: projects and resources. A quota for a project that is not there, or of a
// resource that nothing has, is a slip, and what it was meant for would go without.
import { type FieldProblem, nearest, type Policy, pointer, type Quota, shown } from '@muster/model';
import type { Api } from './deps.ts';
import { fieldRefusal } from './problem.ts';

type Path = readonly (string | number)[];

const amounts = ['guaranteed', 'ceiling', 'userCeiling'] as const;

/**
 * Every quota of a policy. A model that nothing has yet may come, so that only a kind that looks like another one is refused, and
 * a name that is another one but for capitals. Whoever means such a kind lists a model of it under `hardware`.
 */
export async function checkNames(api: Api, policy: Policy): Promise<void> {
  const [projects, keys] = await Promise.all([projectsOf(api), keysOf(api, policy)]);
  const problems = policy.quotas.flatMap((quota, i) => [
    ...projectProblem(quota.project, projects, ['quotas', i, 'project']),
    ...keyProblems(quota, keys, ['quotas', i], false),
  ]);
  if (problems.length > 0) throw fieldRefusal(problems);
}

/** The quota that a question is about; what nothing has is no question. */
export async function checkQuota(
  api: Api,
  policy: Policy,
  asked: Pick<Quota, 'project'> & Partial<Record<(typeof amounts)[number], unknown>>,
): Promise<void> {
  const [projects, keys] = await Promise.all([projectsOf(api), keysOf(api, policy)]);
  const problems = [
    ...projectProblem(asked.project, projects, ['quota', 'project']),
    ...keyProblems(asked, keys, ['quota'], true),
  ];
  if (problems.length > 0) throw fieldRefusal(problems);
}

async function projectsOf(api: Api): Promise<string[]> {
  return (await api.store.projects(null)).map(({ path }) => path);
}

/** What nodes have that take work, what the policy in force speaks of, and what models the policy knows. */
async function keysOf(api: Api, { hardware }: Policy): Promise<Set<string>> {
  const { healthy } = await api.control.ledger((await api.store.head()).sequence);
  const { policy: now } = await api.store.policy();
  const keys = new Set(['cpu', 'memory', ...Object.keys(healthy)]);
  for (const quota of now.quotas)
    for (const which of amounts) for (const key of Object.keys(quota[which])) keys.add(key);
  for (const { kind, model } of hardware) keys.add(kind).add(`${kind}/${model}`);
  return keys;
}

function projectProblem(project: string, known: readonly string[], at: Path): FieldProblem[] {
  if (known.includes(project)) return [];
  const near = nearest(project, known);
  const hint = near ? `; did you mean "${near}"?` : '; create it first';
  return [problem(at, `there is no project "${project}"${hint}`, project)];
}

function keyProblems(
  quota: Partial<Record<(typeof amounts)[number], unknown>>,
  known: ReadonlySet<string>,
  at: Path,
  strict: boolean,
): FieldProblem[] {
  return amounts.flatMap((which) =>
    Object.keys(quota[which] ?? {}).flatMap((key) => {
      if (known.has(key)) return [];
      const kinds = [...known].filter((each) => !each.includes('/'));
      const near = strict ? nearest(key, [...known]) : slip(key, known, kinds);
      if (!near && !strict) return [];
      const hint = near ? `did you mean "${near}"?` : `there are ${kinds.join(', ')}`;
      return [problem([...at, which, key], `no node has "${key}"; ${hint}`, key)];
    }),
  );
}

function slip(key: string, known: ReadonlySet<string>, kinds: readonly string[]): string | null {
  const same = [...known].find((each) => each.toLowerCase() === key.toLowerCase());
  if (same !== undefined) return same;
  const [kind = '', model] = key.split('/');
  if (kinds.includes(kind)) return null;
  const near = nearest(kind, kinds);
  return near && model !== undefined ? `${near}/${model}` : near;
}

function problem(at: Path, message: string, value: string): FieldProblem {
  return { code: 'invalid-field', path: pointer(at), message, value: shown(value) };
}
