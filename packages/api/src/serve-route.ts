// Puts one route of the table on the server: first who is asking and whether the role allows it, before a byte of the
// body is read; then query and body against their schemas; then the handler; then audit and timing.
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { type Caller, hasRole } from './auth.ts';
import { checkBody, checkQuery } from './check-input.ts';
import { type Api, defaultRateLimit } from './deps.ts';
import { refuse } from './problem.ts';
import { type Answer, type Call, type Route, streamed } from './route.ts';
import { withoutSecrets } from './token-text.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
    /** What the audit names as touched; the path parameters when null. */
    target: string | null;
    isStream: boolean;
  }
  interface FastifyContextConfig {
    route?: Route;
  }
}

const slowMs = 2000;
const jsonType = 'application/json; charset=utf-8';

export function serveRoute(app: FastifyInstance, api: Api, route: Route): void {
  const timer = api.metrics.timer(route);
  app.route({
    method: route.method,
    url: route.path,
    ...(route.bodyBytes === null ? {} : { bodyLimit: route.bodyBytes }),
    onRequest: gate(api, route),
    onResponse: (request, reply, done) => {
      if (!request.isStream) {
        timer(reply.statusCode, reply.elapsedTime);
        if (reply.elapsedTime > slowMs) logSlow(api, route, request, reply);
      }
      done();
    },
    config: { route },
    handler: (request, reply) => serve(api, route, request, reply),
  });
}

/** Never the URL: what people put into queries is not ours to keep. */
function logSlow(api: Api, route: Route, request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode: status, elapsedTime } = reply;
  api.log.warn(
    { route: route.path, method: route.method, status, ms: Math.round(elapsedTime), reqId: request.id },
    'a slow request',
  );
}

/** Callback style on purpose: a caller who is in the cache passes without a promise. */
function gate(api: Api, route: Route) {
  const limit = api.config.rateLimit ?? defaultRateLimit;
  const { access } = route;

  function admit(request: FastifyRequest, caller: Caller): void {
    request.caller = caller;
    api.buckets.take(caller.token, limit);
    if (access !== 'public' && access !== 'optional' && !hasRole(caller, access))
      throw refuse('forbidden', `this needs ${roleText(access)}; your token is ${callerText(caller)}`);
  }

  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const { authorization } = request.headers;
    if (access === 'public' || (access === 'optional' && authorization === undefined)) done();
    else enter(request, authorization, done);
  };

  function enter(request: FastifyRequest, token: string | undefined, done: HookHandlerDoneFunction): void {
    let caller: Caller | Promise<Caller>;
    try {
      caller = api.auth.authenticate(token, request.url, request.ip);
      if (!(caller instanceof Promise)) admit(request, caller);
    } catch (error) {
      done(error as Error);
      return;
    }
    if (caller instanceof Promise) caller.then((found) => admit(request, found)).then(() => done(), done);
    else done();
  }
}

function roleText(access: Route['access']): string {
  return access === 'operator' ? 'the role admin for all projects' : `the role ${access}`;
}

function callerText(caller: Caller): string {
  return caller.project === null ? caller.role : `${caller.role} of ${caller.project}`;
}

async function serve(api: Api, route: Route, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const call: Call = {
    // Routes without a role do not look at it; the types of the others rely on the gate.
    caller: request.caller as Caller,
    query: checkQuery(route.query, request.query as object),
    body: route.rawBody ? request.body : checkedBody(route, request.body),
    request,
    reply,
  };
  const answer = await route.handle(api, call);
  // Here and not when the answer is sent: who leaves before the answer has had the effect all the same.
  if (route.audit === 'always') auditRequest(api, route, request, 'ok');
  return answer === streamed ? reply : send(reply, answer);
}

function checkedBody(route: Route, body: unknown): unknown {
  if (route.body) return checkBody(route.body, body);
  // An empty object is what many clients send when there is nothing to say.
  if (body === undefined || body === null || JSON.stringify(body) === '{}') return undefined;
  throw refuse('bad-request', 'this request takes no body');
}

function send(reply: FastifyReply, answer: Answer): FastifyReply {
  reply.code(answer.status ?? 200);
  if (answer.headers) reply.headers(answer.headers);
  if (answer.body === undefined) return reply.send();
  if (typeof answer.body === 'string' || Buffer.isBuffer(answer.body)) {
    if (!answer.headers?.['content-type']) reply.header('content-type', jsonType);
    return reply.send(answer.body);
  }
  return reply.header('content-type', jsonType).send(JSON.stringify(answer.body));
}

/** Called by the error handler, which meets what the gate, the body's parser and the handlers refuse. */
export function auditRefusal(api: Api, request: FastifyRequest, code: string): void {
  const { route } = request.routeOptions.config;
  if (route && route.audit !== 'never') auditRequest(api, route, request, code);
}

function auditRequest(api: Api, route: Route, request: FastifyRequest, outcome: string): void {
  const params = Object.values((request.params ?? {}) as Record<string, string>);
  api.audit.add({
    who: request.caller?.principal ?? 'nobody',
    from: request.ip,
    action: route.id,
    // A token pasted where an id belongs is refused, and must not stay behind in the audit.
    target: withoutSecrets(request.target ?? params.join(' ')).slice(0, 200),
    outcome,
    detail: request.caller ? { token: request.caller.token } : {},
  });
}
