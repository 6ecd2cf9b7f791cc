// For load balancers and monitoring. /healthz: the process answers. /readyz: it can do its work, that is, the database
// answers, the engine keeps up with the log, and no loop goes on failing. Whether it is ready is public; why not, and the metrics, take a viewer's
// token, unless the server listens on loopback only with no proxy in front: then only this machine can ask.
import { setTimeout as delay } from 'node:timers/promises';
import { unauthenticated } from './auth.ts';
import type { Api } from './deps.ts';
import { route } from './route.ts';
import { healthSchema, readySchema } from './view-schemas.ts';

const tag = 'server';
const storeWithinMs = 3000;
const engineWithinMs = 1000;

const healthz = route({
  id: 'healthz',
  method: 'GET',
  path: '/healthz',
  tag,
  summary: 'The process is alive',
  access: 'public',
  answers: { 200: healthSchema },
  handle: async () => ({ body: '{"ok":true}' }),
});

const readyz = route({
  id: 'readyz',
  method: 'GET',
  path: '/readyz',
  tag,
  summary: 'The server can do its work; reasons with a viewer token',
  access: 'optional',
  answers: { 200: readySchema, 503: readySchema },
  async handle(api, { request }) {
    const reasons = await notReady(api);
    const detailed = api.localOnly || request.caller !== null;
    const ready = reasons.length === 0;
    const { leading, epoch, sequence } = api.control.status();
    return {
      status: ready ? 200 : 503,
      body: { ready, ...(detailed ? { reasons, leading, epoch, sequence } : {}) },
    };
  },
});

async function notReady(api: Api): Promise<string[]> {
  const head = await Promise.race([
    api.store.head().then(
      ({ sequence }) => sequence,
      () => null,
    ),
    delay(storeWithinMs, null, { ref: false }),
  ]);
  if (head === null) return ['the database does not answer'];
  // The head moves on while we look; what counts is that the engine reaches where it was.
  const endMs = performance.now() + engineWithinMs;
  while (api.control.status().sequence < head && performance.now() < endMs) await delay(20);
  const behind = head - api.control.status().sequence;
  const late = behind > 0 ? [`the engine is ${behind} events behind the log`] : [];
  return [...late, ...api.control.status().troubles];
}

const metrics = route({
  id: 'metrics',
  method: 'GET',
  path: '/metrics',
  tag,
  summary: 'Prometheus metrics; a viewer token unless the server listens on loopback only',
  access: 'optional',
  answers: { 200: 'text/plain' },
  async handle(api, { request }) {
    if (!api.localOnly && request.caller === null) throw unauthenticated();
    const { text, contentType } = await api.metrics.render();
    return { body: text, headers: { 'content-type': contentType } };
  },
});

export const healthRoutes = [healthz, readyz, metrics];
