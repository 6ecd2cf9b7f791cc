// The HTTP server of one control plane: the table of routes on Fastify, with what all of them share. The `muster` executable
// makes one; tests make as many as they like.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyServerOptions } from 'fastify';
import { acceptAgents, isAgentUpgrade } from './agents-connect.ts';
import { createAuditLog } from './audit-log.ts';
import { createAuthenticator } from './auth.ts';
import { createChanges } from './changes.ts';
import { createCursors } from './cursor.ts';
import { type Api, type ApiConfig, type ApiDeps, defaultMaxStreamsPerToken } from './deps.ts';
import { handleErrors, sendRefusal, toRefusal } from './errors.ts';
import { createIdSource } from './id-source.ts';
import { parseJsonBody } from './json-body.ts';
import { checkBind, isLoopback, listen, readTls } from './listen.ts';
import { createMetrics } from './metrics.ts';
import { problemMediaType, problemOf, refuse } from './problem.ts';
import { createBuckets } from './rate-limit.ts';
import { type ClientError, clientErrorAnswer, headersTimeoutMs, requestTimeoutMs } from './raw-answer.ts';
import { routes } from './routes.ts';
import { serveRoute } from './serve-route.ts';
import { createStreamSet } from './sse.ts';
import { createTenancy } from './tenancy.ts';

export interface RunningApi {
  readonly app: FastifyInstance;
  /** `METHOD path` of every route that Fastify has, by its own account: what the authorisation sweep walks. */
  readonly served: readonly string[];
  listen(): Promise<{ readonly url: string }>;
  /** Ends streams, sends agents elsewhere, lets requests finish, writes the audit. */
  close(): Promise<void>;
}

/** Throws OperationalError, with a sentence, when the configuration would open an unsafe door. */
export async function createApi(deps: ApiDeps): Promise<RunningApi> {
  checkBind(deps.config);
  const tls = await readTls(deps.config.tls);
  const api = makeApi(deps);
  const app = makeServer(deps.config, tls);
  const served: string[] = [];
  app.addHook('onRoute', ({ method, url }) => void served.push(`${method} ${url}`));
  takeJson(app);
  secure(app);
  const underWay = countRequests(app);
  refuseWhileClosing(app);
  handleErrors(app, api, routes);
  for (const route of routes) serveRoute(app, api, route);
  const closeDoor = acceptAgents(app.server as Server, api);
  app.addHook('preClose', async () => {
    api.streams.closeAll();
    api.changes.close();
    closeDoor();
  });
  await app.ready();
  return {
    app,
    served,
    listen: async () => ({ url: await listen(app, deps.config) }),
    async close() {
      await closeServer(app, underWay);
      await api.audit.close();
    },
  };
}

const closeWithinMs = 10_000;
const lookEveryMs = 20;

/**
 * Requests under way may finish. Waiting for connections instead would wait out the keep-alive of every idle one, and of those
 * that were opened ahead and never used, which Node does not count as idle.
 */
async function closeServer(app: FastifyInstance, underWay: () => number): Promise<void> {
  const endMs = performance.now() + closeWithinMs;
  const timer = setInterval(() => {
    if (underWay() === 0 || performance.now() > endMs) app.server.closeAllConnections();
  }, lookEveryMs);
  await app.close().finally(() => clearInterval(timer));
}

/** Counts the requests under way. A client that leaves ends its request too, which only `close` tells. */
function countRequests(app: FastifyInstance): () => number {
  let count = 0;
  const ended = (): void => {
    count--;
  };
  app.addHook('onRequest', (_request, reply, done) => {
    count++;
    reply.raw.once('close', ended);
    done();
  });
  return () => count;
}

/** Told before anything is looked at: nothing happened, and another server may take it. */
function refuseWhileClosing(app: FastifyInstance): void {
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.addHook('onRequest', (_request, _reply, done) => {
    if (!closing) return done();
    done(refuse('unavailable', 'this server is stopping; send the request again', closingHeaders));
  });
}

const closingHeaders = { headers: { 'retry-after': '1', connection: 'close' } };

function makeApi(deps: ApiDeps): Api {
  const { store, clock, config, control, log } = deps;
  const buckets = createBuckets(clock);
  const auth = createAuthenticator({ store, clock, buckets });
  const streams = createStreamSet(auth, config.maxStreamsPerToken ?? defaultMaxStreamsPerToken);
  return {
    ...deps,
    auth,
    buckets,
    streams,
    audit: createAuditLog(store, log),
    changes: createChanges(store),
    cursors: createCursors(rememberedLogId(store, clock)),
    idRandom: createIdSource(deps.random),
    metrics: createMetrics({ store, control, openStreams: () => streams.openCount }),
    tenancy: createTenancy(store, clock),
    // A proxy on this machine speaks for the whole world.
    localOnly: isLoopback(config.host) && !config.behindTlsProxy,
  };
}

/** A list needs it twice a page, and it changes only when a database is restored. */
function rememberedLogId(store: ApiDeps['store'], clock: ApiDeps['clock']): () => Promise<string> {
  let known = { logId: '', atMs: Number.NEGATIVE_INFINITY };
  return async () => {
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - known.atMs) > 1000) known = { logId: (await store.head()).logId, atMs: nowMs };
    return known.logId;
  };
}

function makeServer(config: ApiConfig, tls: { cert: Buffer; key: Buffer } | null): FastifyInstance {
  const options: FastifyServerOptions = {
    logger: false,
    bodyLimit: config.maxBodyBytes,
    // One hop: the proxy the operator vouched for.
    trustProxy: config.behindTlsProxy ? (_address: string, hop: number) => hop === 0 : false,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: 75_000,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 200 },
    // Its own answer while closing has no code; refuseWhileClosing has.
    return503OnClosing: false,
    clientErrorHandler: rawRefusal,
    frameworkErrors: (error, request, reply) => {
      void sendRefusal(
        reply as FastifyReply,
        toRefusal(error, request) ?? refuse('bad-request', 'the request is malformed'),
      );
    },
  };
  // What Node would answer by itself, without a body, is answered by our hooks instead.
  const server = {
    requireHostHeader: false,
    headersTimeout: headersTimeoutMs,
    // An Upgrade that is not for us, such as curl's to HTTP/2, is left aside and the request served as it is.
    shouldUpgradeCallback: isAgentUpgrade,
  };
  // Typed apart by Fastify for HTTP and HTTPS; nothing here depends on which it is.
  const app = fastify({
    ...options,
    ...(tls ? { https: { ...tls, ...server } } : { http: server }),
  } as FastifyServerOptions);
  app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const problem = problemOf('expectation-failed', 'the only Expect that this server knows is 100-continue');
    const body = JSON.stringify(problem);
    response.writeHead(problem.status, {
      'content-type': problemMediaType,
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    });
    response.end(body);
  });
  return app;
}

/** What Node's parser refuses before there is a request: bad bytes, too large headers, too slow. */
function rawRefusal(
  error: ClientError,
  socket: { writable: boolean; end(text: string): void; destroy(): void },
): void {
  if (socket.writable && error.code !== 'ECONNRESET') socket.end(clientErrorAnswer(error));
  else socket.destroy();
}

function takeJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      if (request.headers['content-encoding'] !== undefined)
        throw refuse('unsupported-media', 'send the body as it is, without Content-Encoding');
      done(null, parseJsonBody(bytes as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

function secure(app: FastifyInstance): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('target', null);
  app.decorateRequest('isStream', false);
  app.addHook('onRequest', (_request, reply, done) => {
    // Output and names come from anywhere: no browser may guess what they are, and no cache may keep them.
    reply.header('x-content-type-options', 'nosniff').header('cache-control', 'no-store');
    done();
  });
}
