// Clusters: connected, looked at, drained and removed by an operator.
import type {
  ClusterConfigInput,
  ClusterLostView,
  ClusterPricesView,
  ClusterTestView,
  ClusterView,
  MovedView,
  Page,
} from '@muster/model';
import { pages } from './pages.ts';
import type { Transport } from './transport.ts';

export function clustersApi(transport: Transport) {
  const at = (name: string, tail = ''): string => `/v1/clusters/${encodeURIComponent(name)}${tail}`;
  const list = (
    asked: { limit?: number; cursor?: string } = {},
    signal?: AbortSignal,
  ): Promise<Page<ClusterView>> => transport.json({ path: '/v1/clusters', query: { ...asked }, signal });
  return {
    list,
    all: (): AsyncIterable<ClusterView> =>
      pages((cursor) => list({ limit: 1000, ...(cursor === null ? {} : { cursor }) })),
    get: (name: string): Promise<ClusterView> => transport.json({ path: at(name) }),
    add: (name: string, config: ClusterConfigInput): Promise<ClusterView> =>
      transport.json({ method: 'PUT', path: at(name), body: config, repeatable: true }),
    /** Another configuration of one that was added; what runs there goes on. */
    set: (name: string, config: ClusterConfigInput): Promise<ClusterView> =>
      transport.json({ method: 'PUT', path: at(name, '/config'), body: config, repeatable: true }),
    /** What an hour costs there, by the policy. */
    prices: (name: string): Promise<ClusterPricesView> => transport.json({ path: at(name, '/prices') }),
    drain: (name: string, reason: string): Promise<ClusterView> =>
      transport.json({ method: 'POST', path: at(name, '/drain'), body: { reason }, repeatable: true }),
    undrain: (name: string): Promise<ClusterView> =>
      transport.json({ method: 'POST', path: at(name, '/undrain'), repeatable: true }),
    /** Everything that runs there goes elsewhere; what cannot says why. */
    move: (
      name: string,
      order: { readonly reason: string; readonly to?: string | undefined },
    ): Promise<{ readonly items: readonly MovedView[] }> =>
      transport.json({ method: 'POST', path: at(name, '/move'), body: order, repeatable: true }),
    /** Your word that all of it is gone: proof of end for everything there. With `dryRun` it only says what that would do. */
    declareLost: (name: string, { dryRun }: { readonly dryRun?: boolean } = {}): Promise<ClusterLostView> =>
      transport.json({
        method: 'POST',
        path: at(name, '/declare-lost'),
        query: { dryRun: dryRun || undefined },
        repeatable: true,
      }),
    remove: (name: string): Promise<ClusterView> => transport.json({ method: 'DELETE', path: at(name) }),
    /** Looks at it now, from the server that is asked. */
    test: (name: string): Promise<ClusterTestView> =>
      transport.json({ method: 'POST', path: at(name, '/test'), repeatable: true }),
    testConfig: (config: ClusterConfigInput): Promise<ClusterTestView> =>
      transport.json({ method: 'POST', path: '/v1/clusters/test', body: config, repeatable: true }),
  };
}
