// Answers on sockets that have no request of Fastify's: what Node's parser refuses before there is one, and upgrades that
// lead nowhere. They carry a code of the one table like every other answer.
import { maxHeaderSize, STATUS_CODES } from 'node:http';
import type { ProblemCode } from '@muster/model';
import { problemMediaType, problemOf } from './problem.ts';

/** A whole request must have arrived within this time; a slow sender holds a connection no longer. */
export const requestTimeoutMs = 120_000;
export const headersTimeoutMs = 60_000;

export function rawAnswer(code: ProblemCode, detail: string): string {
  const problem = problemOf(code, detail);
  const body = JSON.stringify(problem);
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `Content-Type: ${problemMediaType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

export interface ClientError extends Error {
  readonly code?: string;
  /** What the parser met, in words. */
  readonly reason?: string;
}

export function clientErrorAnswer({ code, reason }: ClientError): string {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return rawAnswer(
        'headers-too-large',
        `the path and all headers together may have at most ${maxHeaderSize} bytes`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return rawAnswer(
        'request-timeout',
        `a request must arrive whole within ${requestTimeoutMs / 1000} s, its headers within ${headersTimeoutMs / 1000} s`,
      );
    default:
      return rawAnswer(
        'bad-request',
        `the request is not well-formed HTTP/1.1${reason ? `: ${reason}` : ''}`,
      );
  }
}
