// Policy and project names as every submit needs them, at most a second old. One refresh serves all requests that wait for
// it; a project that seems missing is looked up once more before anyone is told so, because it may be new.
import { defaultPolicy, type Policy, tierNamed } from '@muster/model';
import type { Store } from '@muster/store';

const maxAgeMs = 1000;

export interface TenancyView {
  readonly policyVersion: number;
  readonly policy: Policy;
  hasProject(path: string): boolean;
  stopAfterMs(tier: string): number | null;
}

export interface Tenancy {
  /** Synchronous while fresh: the hot path makes no promise for it. */
  current(): TenancyView | Promise<TenancyView>;
  /** Asks the store, unless another request just did. */
  refreshed(): Promise<TenancyView>;
}

type Source = Pick<Store, 'policy' | 'projects'>;

export function createTenancy(store: Source, clock: { nowMs(): number }): Tenancy {
  let view: TenancyView | null = null;
  let atMs = 0;
  let loading: Promise<TenancyView> | null = null;

  async function load(): Promise<TenancyView> {
    const startedMs = clock.nowMs();
    const [{ version, policy }, projects] = await Promise.all([store.policy(), store.projects(null)]);
    view = viewOf(version, policy, new Set(projects.map((project) => project.path)));
    atMs = startedMs;
    return view;
  }

  function refreshed(): Promise<TenancyView> {
    loading ??= load().finally(() => {
      loading = null;
    });
    return loading;
  }

  return {
    refreshed,
    current() {
      const ageMs = clock.nowMs() - atMs;
      return view && ageMs >= 0 && ageMs < maxAgeMs ? view : refreshed();
    },
  };
}

function viewOf(policyVersion: number, policy: Policy, projects: ReadonlySet<string>): TenancyView {
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
