// Reading the audit: oldest first, for admins of everything, because entries name everybody.
import * as z from 'zod';
import { countParam, cursorParam, defaultLimit, limitParam } from './check-input.ts';
import { route } from './route.ts';
import { auditSchema, pageOf } from './view-schemas.ts';
import { auditView } from './views.ts';

const query = z.strictObject({
  after: countParam('only entries after this id'),
  limit: limitParam,
  cursor: cursorParam,
});

const listAudit = route({
  id: 'listAudit',
  method: 'GET',
  path: '/v1/audit',
  tag: 'audit',
  summary: 'Who did what, from where, and what came of it; oldest first',
  access: 'operator',
  query,
  answers: { 200: pageOf(auditSchema) },
  async handle(api, { query }) {
    const limit = query.limit ?? defaultLimit;
    const after =
      query.cursor === undefined ? (query.after ?? 0) : Number(await api.cursors.read('audit', query.cursor));
    const rows = await api.store.auditSince(after, limit + 1);
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    const next = last ? await api.cursors.sign('audit', String(last.id)) : null;
    return { body: { items: page.map(auditView), next } };
  },
});

export const auditRoutes = [listAudit];
