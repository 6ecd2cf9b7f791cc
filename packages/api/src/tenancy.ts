// Policy and project names as every submit needs them, at most a second old. One refresh serves all requests that wait for
// it; a project that seems missing is looked up once more before anyone is told so, because it may be new.
import { defaultPolicy, type Policy, tierNamed } from '@muster/model';
import type { Store } from '@muster/store';

const maxAgeMs = 1000;

export interface TenancyView {
  readonly policyVersion: number;
  readonly policy: Policy;
  hasProject(path: string): boolean;
  /** A driver speaks for one of the clusters. */
  readonly driven: boolean;
  stopAfterMs(tier: string): number | null;
}

export interface Tenancy {
  /** Synchronous while fresh: the hot path makes no promise for it. */
  current(): TenancyView | Promise<TenancyView>;
  /** What the store says from now on: a load under way may have asked before. One serves all that wait for it. */
  refreshed(): Promise<TenancyView>;
}

type Source = Pick<Store, 'policy' | 'projects' | 'clusters'>;

export function createTenancy(store: Source, clock: { nowMs(): number }): Tenancy {
  let view: TenancyView | null = null;
  let atMs = 0;
  let loading: Promise<TenancyView> | null = null;
  let next: Promise<TenancyView> | null = null;

  async function load(): Promise<TenancyView> {
    const startedMs = clock.nowMs();
    const [{ version, policy }, projects, clusters] = await Promise.all([
      store.policy(),
      store.projects(null),
      store.clusters(),
    ]);
    const driven = clusters.some(({ config }) => config.kind !== 'agent');
    view = { ...viewOf(version, policy, new Set(projects.map((project) => project.path))), driven };
    atMs = startedMs;
    return view;
  }

  function loaded(): Promise<TenancyView> {
    loading ??= load().finally(() => {
      loading = null;
    });
    return loading;
  }

  function refreshed(): Promise<TenancyView> {
    if (!loading) return loaded();
    const begin = (): Promise<TenancyView> => {
      next = null;
      return loaded();
    };
    next ??= loading.then(begin, begin);
    return next;
  }

  return {
    refreshed,
    current() {
      const ageMs = clock.nowMs() - atMs;
      return view && ageMs >= 0 && ageMs < maxAgeMs ? view : loaded();
    },
  };
}

function viewOf(
  policyVersion: number,
  policy: Policy,
  projects: ReadonlySet<string>,
): Omit<TenancyView, 'driven'> {
  return {
    policyVersion,
    policy,
    hasProject: (path) => projects.has(path),
    stopAfterMs: (tier) => {
      const known = tierNamed(policy, tier) ?? tierNamed(defaultPolicy, defaultPolicy.defaultTier);
      return known?.stopAfterMs ?? null;
    },
  };
}
