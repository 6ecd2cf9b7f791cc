// One keep-alive HTTP/1.1 connection that costs next to nothing. On a small machine the load generator shares its cores with
// what it measures, and Node's own clients take as much time as the server; this one writes prepared bytes and reads
// the answer by its Content-Length. One request at a time.
import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
}

export interface HttpTarget {
  readonly host: string;
  readonly port: number;
  /** Source address: limits that count by address see each loopback address apart. */
  readonly from?: string;
}

interface Waiting {
  readonly resolve: (answer: HttpAnswer) => void;
  readonly reject: (error: Error) => void;
}

const headEnd = Buffer.from('\r\n\r\n');

export class HttpConnection {
  readonly #socket: Socket;
  #waiting: Waiting | null = null;
  #chunks: Buffer[] = [];
  #size = 0;
  /** Bytes of the whole answer; 0 while its head is not complete. */
  #need = 0;
  #bodyAt = 0;
  #status = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (data) => this.#take(data));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  static open({ host, port, from }: HttpTarget): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, ...(from === undefined ? {} : { localAddress: from }) });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new HttpConnection(socket));
      });
    });
  }

  send(request: string): Promise<HttpAnswer> {
    if (this.#waiting) throw new Error('one request at a time');
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (this.#socket.destroyed) this.#fail(new Error('the connection is closed'));
      else this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(data: Buffer): void {
    this.#chunks.push(data);
    this.#size += data.length;
    if (this.#need === 0 && !this.#readHead()) return;
    if (this.#size < this.#need) return;
    const body = this.#joined().subarray(this.#bodyAt, this.#need);
    const status = this.#status;
    this.#chunks = [];
    this.#size = 0;
    this.#need = 0;
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve({ status, body });
  }

  #readHead(): boolean {
    const bytes = this.#joined();
    const end = bytes.indexOf(headEnd);
    if (end < 0) return false;
    const head = bytes.toString('latin1', 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (!length) {
      this.#fail(new Error(`an answer without Content-Length: ${head}`));
      return false;
    }
    this.#status = Number(head.slice(9, 12));
    this.#bodyAt = end + headEnd.length;
    this.#need = this.#bodyAt + Number(length[1]);
    return true;
  }

  #joined(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] as Buffer;
  }

  #fail(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.reject(error);
    this.#socket.destroy();
  }
}

export interface RequestText {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly token: string;
  readonly key?: string;
  readonly body?: string;
}

export function requestText({ method, path, token, key, body }: RequestText): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n`;
  const keyLine = key === undefined ? '' : `Idempotency-Key: ${key}\r\n`;
  if (body === undefined) return `${head}${keyLine}\r\n`;
  const length = Buffer.byteLength(body);
  return `${head}${keyLine}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

/** A broken answer breaks the measuring: a refusal is quicker than the work and would flatter the figure. */
export function expectOk(answer: HttpAnswer, request: string): HttpAnswer {
  if (answer.status >= 200 && answer.status < 300) return answer;
  const line = request.slice(0, request.indexOf('\r\n'));
  throw new Error(`${line} was answered ${answer.status}: ${answer.body.toString().slice(0, 500)}`);
}
