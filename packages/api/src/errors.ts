// The edge where errors become answers. Refusals and operational errors carry a sentence for the user; anything else is a bug:
// logged with its stack under the request's id, and answered with that id and nothing more.
import { OperationalError, type ProblemCode, problemCodes } from '@muster/model';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Api } from './deps.ts';
import { problemMediaType, problemOf, RefusedError, refuse } from './problem.ts';
import type { Route } from './route.ts';
import { auditRefusal } from './serve-route.ts';

/** How Fastify's own refusals read in our table. */
const fastifyCodes: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['too-large', 'the body is larger than this request may be'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported-media', 'send the body as "Content-Type: application/json"'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad-request', 'the body is not as long as Content-Length says'],
  FST_ERR_BAD_URL: ['bad-request', 'the path is not a valid URL path'],
  FST_ERR_MAX_PARAM_LENGTH: ['not-found', 'there is no such path'],
};

export function toRefusal(error: Error): RefusedError | null {
  if (error instanceof RefusedError) return error;
  if (error instanceof OperationalError) {
    const headers = error.code === 'unavailable' ? { 'retry-after': '1' } : {};
    return refuse(error.code, error.message, { headers });
  }
  const known = fastifyCodes[(error as FastifyError).code ?? ''];
  return known ? refuse(known[0], known[1]) : null;
}

export function sendRefusal(reply: FastifyReply, refusal: RefusedError): FastifyReply {
  const problem = problemOf(refusal.code, refusal.message, refusal.errors);
  const status = refusal.status ?? problem.status;
  return reply
    .code(status)
    .headers(refusal.headers)
    .header('content-type', problemMediaType)
    .send(JSON.stringify({ ...problem, status }));
}

export function handleErrors(app: FastifyInstance, api: Api, routes: readonly Route[]): void {
  const { log } = api;
  app.setErrorHandler((error: Error, request, reply) => {
    const refusal = toRefusal(error) ?? bug(error, request, log);
    if (problemCodes[refusal.code].status >= 500 && error instanceof OperationalError)
      log.warn(
        { err: error.cause ?? error, route: request.routeOptions.url, reqId: request.id },
        refusal.code,
      );
    auditRefusal(api, request, refusal.code);
    return sendRefusal(reply, refusal);
  });
  app.setNotFoundHandler((request, reply) => sendRefusal(reply, noRoute(request, routes)));
}

function bug(error: Error, request: FastifyRequest, log: Logger): RefusedError {
  log.error({ err: error, route: request.routeOptions.url, reqId: request.id }, 'a request failed on a bug');
  return refuse('internal', `this is a bug in Muster; the server's log has it under request ${request.id}`);
}

/** A known path asked with another method is 405 with what it allows. */
function noRoute(request: FastifyRequest, routes: readonly Route[]): RefusedError {
  const path = request.url.split('?', 1)[0] ?? '';
  const methods = routes.filter((route) => matches(route.path, path)).map((route) => route.method);
  if (methods.length === 0) return refuse('not-found', 'there is no such path');
  const allow = [...new Set(methods)].join(', ');
  return refuse('bad-request', `this path takes ${allow}`, { status: 405, headers: { allow } });
}

function matches(pattern: string, path: string): boolean {
  const want = pattern.split('/');
  const have = path.split('/');
  return want.length === have.length && want.every((part, i) => part.startsWith(':') || part === have[i]);
}
