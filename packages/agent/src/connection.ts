// One WebSocket to a server: messages are numbered both ways, and a gap, a repeat or nonsense ends it. What the messages
// mean is the session's business.
import type { SecureContext } from 'node:tls';
import type { AgentMessage, ServerMessage } from '@muster/model';
import { maxMessageBytes } from '@muster/model';
import { WebSocket } from 'ws';
import { readServerMessage } from './server-message.ts';
import { whyNoConnection } from './trust.ts';

export type Unnumbered = AgentMessage extends infer M
  ? M extends { n: number }
    ? Omit<M, 'n'>
    : never
  : never;

export interface ConnectionHooks {
  readonly message: (message: ServerMessage) => void;
  /** Called once; `why` is for people. */
  readonly closed: (why: string) => void;
}

const openWithinMs = 10_000;

export class Connection {
  readonly #socket: WebSocket;
  readonly #hooks: ConnectionHooks;
  #sent = 0;
  #received = 0;
  #over = false;

  constructor(url: URL, secureContext: SecureContext | undefined, hooks: ConnectionHooks) {
    this.#hooks = hooks;
    this.#socket = new WebSocket(url, {
      handshakeTimeout: openWithinMs,
      maxPayload: maxMessageBytes,
      perMessageDeflate: false,
      ...(secureContext ? { secureContext } : {}),
    });
    this.#socket.on('message', (data, isBinary) => this.#receive(String(data), isBinary));
    this.#socket.on('error', (error) => this.end(whyNoConnection(error)));
    this.#socket.on('close', (code, reason) =>
      this.end(`closed with ${code}${reason.length > 0 ? ` (${reason})` : ''}`),
    );
  }

  send(message: Unnumbered): void {
    if (this.#over || this.#socket.readyState !== WebSocket.OPEN) return;
    const { type, ...rest } = message;
    this.#socket.send(JSON.stringify({ type, n: ++this.#sent, ...rest }));
  }

  end(why: string): void {
    if (this.#over) return;
    this.#over = true;
    // `terminate` would throw away a goodbye that is still to be sent.
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close();
    else this.#socket.terminate();
    // A peer that is gone does not answer the closing handshake.
    setTimeout(() => this.#socket.terminate(), 1000).unref();
    this.#hooks.closed(why);
  }

  #receive(text: string, isBinary: boolean): void {
    if (this.#over) return;
    const read = isBinary ? { ok: false as const, why: 'a binary message' } : readServerMessage(text);
    const wrong = read.ok ? this.#wrongNumber(read.n) : read.why;
    if (!read.ok || wrong !== null) {
      this.end(`the server sent something wrong: ${wrong}`);
      return;
    }
    this.#received = read.n;
    if (read.message) this.#hooks.message(read.message);
  }

  #wrongNumber(n: number): string | null {
    return n === this.#received + 1 ? null : `message ${n} after message ${this.#received}`;
  }
}
