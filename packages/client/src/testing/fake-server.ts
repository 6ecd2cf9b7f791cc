// A small real HTTP server for tests of the SDK and the CLI: routes are functions, every request is kept.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Answer {
  readonly status?: number;
  readonly json?: unknown;
  readonly text?: string | Uint8Array;
  readonly headers?: Record<string, string>;
}

/** An answer, or a function that writes it itself (streams, broken connections). */
export type Reply = Answer | ((response: ServerResponse) => void);

export type Handler = (request: FakeRequest) => Reply | Promise<Reply>;

export class FakeServer {
  readonly requests: FakeRequest[] = [];
  readonly #routes = new Map<string, Handler>();
  readonly #server: Server;
  #port = 0;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<FakeServer> {
    const fake = new FakeServer();
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    fake.#port = (fake.#server.address() as AddressInfo).port;
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** `route` is "METHOD /path", without a query. A later one replaces an earlier one. */
  on(route: string, handler: Handler | Answer): this {
    this.#routes.set(route, typeof handler === 'function' ? handler : () => handler);
    return this;
  }

  to(route: string): FakeRequest[] {
    return this.requests.filter(({ method, path }) => `${method} ${path}` === route);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://fake');
    const request: FakeRequest = {
      method: incoming.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: await text(incoming),
    };
    this.requests.push(request);
    const handler = this.#routes.get(`${request.method} ${request.path}`);
    const reply = handler ? await handler(request) : { status: 404, json: notFound(request.path) };
    if (typeof reply === 'function') return reply(response);
    const type = reply.text === undefined ? 'application/json' : 'text/plain';
    response.writeHead(reply.status ?? 200, { 'content-type': type, ...reply.headers });
    response.end(reply.text ?? (reply.json === undefined ? '' : JSON.stringify(reply.json)));
  }
}

function notFound(path: string): unknown {
  const detail = `there is no ${path}`;
  return { type: 'about:blank', title: 'Not found', status: 404, code: 'not-found', detail };
}
