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
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported-media', 'send the body as "Content-Type: application/json"'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad-request', 'the body is not as long as Content-Length says'],
  FST_ERR_BAD_URL: ['bad-request', 'the path is not a valid URL path'],
  FST_ERR_MAX_PARAM_LENGTH: ['not-found', 'there is no such path'],
};

export function toRefusal(error: Error, request: FastifyRequest): RefusedError | null {
  if (error instanceof RefusedError) return error;
  if (error instanceof OperationalError) {
    const headers = error.code === 'unavailable' ? { 'retry-after': '1' } : {};
    return refuse(error.code, error.message, { headers });
  }
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return refuse('too-large', `the body may have at most ${request.routeOptions.bodyLimit} bytes`);
  // Nobody is left to read it, but it is the client's doing and no bug of ours.
  if (code === 'ECONNRESET' && request.raw.destroyed)
    return refuse('bad-request', 'the connection ended before the whole body had arrived');
  const known = fastifyCodes[code];
  if (known) return refuse(known[0], known[1]);
  const form = code.startsWith('FST_') && statusCode >= 400 && statusCode < 500;
  return form ? refuse('bad-request', 'the request is malformed') : null;
}

export function sendRefusal(reply: FastifyReply, refusal: RefusedError): FastifyReply {
  const problem = problemOf(refusal.code, refusal.message, refusal.errors);
  return reply
    .code(problem.status)
    .headers(refusal.headers)
    .header('content-type', problemMediaType)
    .send(JSON.stringify(problem));
}

export function handleErrors(app: FastifyInstance, api: Api, routes: readonly Route[]): void {
  const { log } = api;
  app.setErrorHandler((error: Error, request, reply) => {
    const refusal = toRefusal(error, request) ?? bug(error, request, log);
    if (problemCodes[refusal.code].status >= 500 && error instanceof OperationalError)
      log.warn(
        { err: error.cause ?? error, route: request.routeOptions.url, reqId: request.id },
        refusal.code,
      );
    auditRefusal(api, request, refusal.code);
    return sendRefusal(reply, refusal);
  });
  // Before its body is read, which nobody will look at.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) done(noRoute(request, routes));
    else if (request.raw.httpVersion === '1.1' && request.raw.headers.host === undefined)
      done(refuse('bad-request', 'the header Host is missing'));
    else done();
  });
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
  return refuse('method-not-allowed', `this path takes ${allow}`, { headers: { allow } });
}

function matches(pattern: string, path: string): boolean {
  const want = pattern.split('/');
  const have = path.split('/');
  return want.length === have.length && want.every((part, i) => part.startsWith(':') || part === have[i]);
}
