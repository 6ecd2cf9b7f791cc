// A TCP proxy between a client and a server, which can cut every connection at once, refuse new ones, cut what comes back in the
// middle of a piece, delay it, and hang.
import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Ends all connections now. */
  cut(): void;
  /** Refuses connections until it is told otherwise. */
  refuse(refusing: boolean): void;
  /** Lets only a part of the next piece through that the server sends, on whichever connection, and then cuts that connection. */
  cutNextAnswer(): void;
  /** Takes connections and what is sent on them, and says nothing, until it is told otherwise; what hung then is cut. */
  hang(hanging: boolean): void;
  /** Every piece that the server sends comes so much later. */
  delay(ms: number): void;
  close(): Promise<void>;
}

/** `on`: the address that it listens at, for clients that do not see this machine's own. */
export async function startTcpProxy(host: string, port: number, on = '127.0.0.1'): Promise<TcpProxy> {
  const open = new Set<Socket>();
  let refusing = false;
  let truncating = false;
  let hanging = false;
  let delayMs = 0;
  const server = createServer((near) => {
    if (refusing) return near.destroy();
    const far = connect(port, host);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('error', () => {});
      one.once('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
    near.on('data', (piece) => {
      if (!hanging) far.write(piece);
    });
    far.on('data', (piece) => {
      if (hanging) return;
      if (delayMs > 0) return void setTimeout(() => near.write(piece), delayMs);
      if (!truncating) return near.write(piece);
      truncating = false;
      near.end(piece.subarray(0, piece.length >> 1));
      far.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, on, resolve));
  const address = server.address();
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    cut,
    refuse(wanted) {
      refusing = wanted;
      if (wanted) cut();
    },
    cutNextAnswer() {
      truncating = true;
    },
    hang(wanted) {
      hanging = wanted;
      // A part of what was said is missing on them.
      if (!wanted) cut();
    },
    delay(ms) {
      delayMs = ms;
    },
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
