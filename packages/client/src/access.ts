// Projects, policy, quota, tokens and what was done by whom.
import type {
  AuditView,
  LedgerView,
  Page,
  PolicyView,
  ProjectView,
  Role,
  TokenView,
  UsageView,
  VersionView,
} from '@muster/model';

import type { Transport } from './transport.ts';

export interface NewToken {
  readonly name: string;
  readonly role: Role;
  readonly project?: string | undefined;
  /** A duration such as "30d"; without it the token does not expire. */
  readonly expiresIn?: string | undefined;
}

/** Who the token is. */
export interface WhoamiView {
  readonly token: string;
  readonly name: string;
  /** The name by which jobs and the audit log know it. */
  readonly principal: string;
  readonly role: Role;
  /** Null: every project. */
  readonly project: string | null;
  readonly expiresAt: string | null;
}

interface Paging {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

const tag = (version: number) => ({ 'if-match': `"${version}"` });

export function accessApi(transport: Transport) {
  return {
    projects: {
      list: (paging: Paging = {}): Promise<Page<ProjectView>> =>
        transport.json({ path: '/v1/projects', query: { ...paging } }),
      create: (path: string): Promise<ProjectView> =>
        transport.json({ method: 'POST', path: '/v1/projects', body: { path } }),
    },
    tokens: {
      list: (paging: Paging = {}): Promise<Page<TokenView>> =>
        transport.json({ path: '/v1/tokens', query: { ...paging } }),
      /** The token itself is in this answer and never again. */
      create: (token: NewToken): Promise<TokenView & { readonly token: string }> =>
        transport.json({ method: 'POST', path: '/v1/tokens', body: token }),
      revoke: (id: string): Promise<TokenView> =>
        transport.json({ method: 'DELETE', path: `/v1/tokens/${encodeURIComponent(id)}`, repeatable: true }),
    },
    audit: (paging: Paging = {}): Promise<Page<AuditView>> =>
      transport.json({ path: '/v1/audit', query: { ...paging } }),
    policy: {
      get: (): Promise<PolicyView> => transport.json({ path: '/v1/policy' }),
      /** On top of the version it was made from; refused when there is a newer one. */
      put: (policy: unknown, madeFrom: number): Promise<PolicyView> =>
        transport.json({ method: 'PUT', path: '/v1/policy', body: policy, headers: tag(madeFrom) }),
      versions: (paging: Paging = {}): Promise<Page<PolicyView>> =>
        transport.json({ path: '/v1/policy/versions', query: { ...paging } }),
      version: (version: number): Promise<PolicyView> =>
        transport.json({ path: `/v1/policy/versions/${version}` }),
      rollback: (version: number, madeFrom: number): Promise<PolicyView> =>
        transport.json({
          method: 'POST',
          path: '/v1/policy/rollback',
          body: { version },
          headers: tag(madeFrom),
        }),
    },
    quota: (project?: string): Promise<LedgerView> =>
      transport.json({ path: '/v1/quota', query: { project } }),
    usage: (
      period: { readonly project?: string; readonly since?: string; readonly until?: string } = {},
    ): Promise<UsageView> => transport.json({ path: '/v1/usage', query: { ...period } }),
    whoami: (call: { readonly signal?: AbortSignal } = {}): Promise<WhoamiView> =>
      transport.json({ path: '/v1/whoami', ...call }),
    version: (
      call: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
    ): Promise<VersionView> => transport.json({ path: '/v1/version', ...call }),
    health: (call: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {}): Promise<unknown> =>
      transport.json({ path: '/healthz', ...call }),
  };
}
