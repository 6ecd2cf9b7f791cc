// A node's output can be read only by the server its agent is connected to. Any other server passes the request on, once, with
// the caller's own token, so that the other server decides for itself whether the caller may see it.
import { Readable } from 'node:stream';
import type { ServerInfo } from '@muster/store';
import type { Api } from './deps.ts';
import { refuse } from './problem.ts';
import { type Call, streamed } from './route.ts';

export const forwardedHeader = 'muster-forwarded-by';
const passedOn = ['authorization', 'accept', 'last-event-id'];
const passedBack = /^(content-type|retry-after|cache-control|muster-)/;
const answerWithinMs = 15_000;

export async function forwardRequest(api: Api, call: Call, server: ServerInfo): Promise<typeof streamed> {
  const { raw } = call.reply;
  const gone = new AbortController();
  raw.on('close', () => gone.abort());
  const answer = await ask(api, call, server, gone.signal);
  const headers: Record<string, string> = { 'x-content-type-options': 'nosniff' };
  for (const [name, value] of answer.headers) if (passedBack.test(name)) headers[name] = value;
  call.request.isStream = true;
  call.reply.hijack();
  raw.writeHead(answer.status, headers);
  if (!answer.body) raw.end();
  else {
    const body = Readable.fromWeb(answer.body);
    body.on('error', () => raw.destroy());
    body.pipe(raw);
  }
  return streamed;
}

async function ask(api: Api, call: Call, server: ServerInfo, gone: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { [forwardedHeader]: api.control.server };
  for (const name of passedOn) {
    const value = call.request.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  // Only the head has a limit in time: a followed log may take days.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), answerWithinMs);
  try {
    return await fetch(`${server.url.replace(/\/$/, '')}${call.request.url}`, {
      headers,
      redirect: 'error',
      signal: AbortSignal.any([gone, late.signal]),
    });
  } catch (error) {
    api.log.warn({ err: error, server: server.id }, 'the server that holds the node did not answer');
    throw refuse(
      'node-unreachable',
      `the server ${server.id} that the node is connected to does not answer; try again`,
      {
        headers: { 'retry-after': '2' },
      },
    );
  } finally {
    clearTimeout(timer);
  }
}
