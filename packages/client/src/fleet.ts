// Nodes, clusters and enrolment: what an operator does.
import type { MovedView, NodeView, Page } from '@muster/model';
import { pages } from './pages.ts';
import type { Transport } from './transport.ts';

export interface NodeFilter {
  readonly cluster?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface NewEnrolment {
  readonly cluster?: string | undefined;
  readonly pool?: string | undefined;
  /** How many machines may use the token. */
  readonly uses?: number | undefined;
  /** A duration such as "1h". */
  readonly expiresIn?: string | undefined;
}

export interface EnrolmentView {
  readonly token: string;
  readonly expiresAt: string;
}

export function nodesApi(transport: Transport) {
  const at = (id: string, tail = ''): string => `/v1/nodes/${encodeURIComponent(id)}${tail}`;
  const list = (filter: NodeFilter = {}, signal?: AbortSignal): Promise<Page<NodeView>> =>
    transport.json({ path: '/v1/nodes', query: { ...filter }, signal });
  // Each of these says how the node shall be, so saying it twice changes nothing.
  const post = (path: string, body?: unknown): Promise<NodeView> =>
    transport.json({ method: 'POST', path, body, repeatable: true });
  return {
    list,
    all: (filter: NodeFilter = {}): AsyncIterable<NodeView> =>
      pages((cursor) => list({ ...filter, ...(cursor === null ? {} : { cursor }) })),
    get: (idOrName: string): Promise<NodeView> => transport.json({ path: at(idOrName) }),
    drain: (idOrName: string, reason: string) => post(at(idOrName, '/drain'), { reason }),
    undrain: (idOrName: string) => post(at(idOrName, '/undrain')),
    /** Everything that runs there goes elsewhere; what cannot says why. */
    move: (idOrName: string, reason: string): Promise<{ readonly items: readonly MovedView[] }> =>
      transport.json({ method: 'POST', path: at(idOrName, '/move'), body: { reason }, repeatable: true }),
    /** From 0 to 1: how far work on it is trusted to come to its end. */
    trust: (idOrName: string, trust: number) => post(at(idOrName, '/trust'), { trust }),
    /** The operator's word that the machine is gone: proof of end for everything on it. */
    declareLost: (idOrName: string) => post(at(idOrName, '/declare-lost')),
    remove: (idOrName: string): Promise<NodeView> => transport.json({ method: 'DELETE', path: at(idOrName) }),
    /** Ends the freeze of a cluster that fell silent as a whole. */
    thaw: (cluster: string): Promise<{ readonly cluster: string; readonly frozen: boolean }> =>
      transport.json({ method: 'POST', path: `/v1/clusters/${encodeURIComponent(cluster)}/thaw` }),
    createEnrolment: (enrolment: NewEnrolment = {}): Promise<EnrolmentView> =>
      transport.json({ method: 'POST', path: '/v1/enrolments', body: enrolment }),
  };
}
