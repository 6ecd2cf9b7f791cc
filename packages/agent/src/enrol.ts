// Enrolment: the node makes its own key, shows the server a one-time token and the public half, and is given its id. The
// private half never leaves this machine.
import { rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { clip, isId, isName, type NodeId, nameRule, OperationalError } from '@muster/model';
import { freshKeys, hasIdentity, readIdentity, tokenHash, writeIdentity } from './identity.ts';
import { openStateDir } from './state-dir.ts';
import { trust, whyNoConnection } from './trust.ts';

export interface EnrolOptions {
  readonly server: string;
  readonly token: string;
  readonly name: string;
  readonly dir: string;
  readonly caFile?: string | undefined;
  /** True: the directory belongs to a node that was removed, and becomes another one. */
  readonly again?: boolean | undefined;
}

export interface Enrolled {
  readonly node: NodeId;
  readonly name: string;
}

export async function enrolAgent(options: EnrolOptions): Promise<Enrolled> {
  const { server, token, name } = options;
  if (!isName(name))
    throw new OperationalError('invalid-field', `"${clip(name)}" is not a node name: ${nameRule}`);
  const dir = openStateDir(options.dir);
  if (hasIdentity(dir) && options.again !== true) {
    const { name: known, server: where } = readIdentity(dir);
    throw new OperationalError(
      'already-exists',
      `${options.dir} is already enrolled as ${known} at ${where}`,
    );
  }
  const { publicKey, privateKey } = freshKeys();
  const answer = await postJson(serverUrl(server, '/v1/enrol'), { token, name, publicKey }, options.caFile);
  if (answer.status < 200 || answer.status > 299) throw refusal(answer, server, name);
  const node = (answer.body as { node?: unknown } | null)?.node;
  if (typeof node !== 'string' || !isId('node', node))
    throw new OperationalError(
      'unavailable',
      `${server} did not answer as a Muster server does: is the address right?`,
    );
  // Epochs are counted by each database for itself: those of another one would make us refuse every command of this.
  rmSync(join(dir.private, 'epoch'), { force: true });
  writeIdentity(dir, { node, name, server, privateKey, tokenHash: tokenHash(token) });
  return { node, name };
}

function refusal({ status, body }: Answer, server: string, name: string): OperationalError {
  const detail = (body as { detail?: unknown } | null)?.detail;
  const said = typeof detail === 'string' ? `: ${clip(detail, 300)}` : '';
  if (status === 401 || status === 403)
    return new OperationalError(
      'unauthenticated',
      `${server} does not accept this enrolment token: it may be used, expired or mistyped; ask for a new one`,
    );
  if (status === 409)
    return new OperationalError(
      'already-exists',
      `${server} does not take a node named ${name}${said || ': choose another name'}`,
    );
  if (status === 404)
    return new OperationalError(
      'not-found',
      `${server} has no enrolment here: is the address a Muster server's?`,
    );
  if (status === 429)
    return new OperationalError('too-many', `${server} asks to wait before trying again${said}`);
  const code = status < 500 ? 'bad-request' : 'unavailable';
  return new OperationalError(code, `${server} answered ${status} to the enrolment${said}`);
}

/** The URL of a path on the server, with http(s) turned into ws(s) when asked. */
export function serverUrl(server: string, path: string, socket = false): URL {
  let url: URL;
  try {
    url = new URL(server);
  } catch {
    throw new OperationalError(
      'invalid-field',
      `"${clip(server)}" is not a server address, such as https://muster.example.org`,
    );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new OperationalError('invalid-field', `"${clip(server)}" must begin with http:// or https://`);
  url.pathname = `${url.pathname.replace(/\/$/, '')}${path}`;
  if (socket) url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const answerWithinMs = 30_000;
const longestAnswer = 1024 * 1024;

function postJson(url: URL, body: object, caFile: string | undefined): Promise<Answer> {
  const isSecure = url.protocol === 'https:';
  const secure = isSecure || caFile !== undefined ? { secureContext: trust(caFile) } : {};
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const send = isSecure ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => {
      const message = `cannot reach ${url.origin}: ${whyNoConnection(cause)}`;
      reject(new OperationalError('unavailable', message, { cause }));
    };
    // An agent of its own: a shared one may have a connection left that was trusted for another file.
    const options = { method: 'POST', headers, timeout: answerWithinMs, agent: false as const, ...secure };
    const request = send(url, options, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length > longestAnswer) request.destroy(new Error('the answer is too long'));
      });
      response.on('error', fail);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(chunks).toString()) });
      });
    });
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('error', fail);
    request.end(text);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
