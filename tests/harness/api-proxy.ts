// Between a client and a real API server, as a load balancer is: it ends TLS, hands requests on, and lets a test say what becomes of
// the lines of watches. It can also turn to another API server.
import { createServer, type RequestOptions, request } from 'node:https';
import type { TestKubernetes } from '@muster/drivers/testing';
import { type Certificate, certificateFor } from './certificate.ts';

export interface ApiProxy {
  /** The text of a kubeconfig through it, for whoever has this token. */
  kubeconfig(token: string): string;
  /** Of every line of a watch: false lets it fall. */
  let(passes: (line: string) => boolean): void;
  /** Keeps the lines of watches that are open now until it is told otherwise; later watches are as usual. */
  hold(): () => void;
  /** Requests go there from now on, and every connection to the one before is cut. */
  turnTo(server: string): void;
  close(): Promise<void>;
}

interface Watch {
  held: string[] | null;
  write(line: string): void;
  end(): void;
}

const hourMs = 3_600_000;

export async function startApiProxy(kubernetes: TestKubernetes): Promise<ApiProxy> {
  const now = Date.now();
  const certificate: Certificate = certificateFor(['kubernetes.default.svc'], '127.0.0.1', [
    now - hourMs,
    now + 24 * hourMs,
  ]);
  let target = new URL(kubernetes.server);
  let passes: (line: string) => boolean = () => true;
  const watches = new Set<Watch>();
  const cuts = new Set<() => void>();

  const server = createServer(certificate, (near, answer) => {
    const options: RequestOptions = {
      host: target.hostname,
      port: target.port,
      method: near.method ?? 'GET',
      path: near.url ?? '/',
      headers: near.headers,
      // Whom it speaks to is not what is tested here.
      rejectUnauthorized: false,
      agent: false,
    };
    const far = request(options, (given) => {
      answer.writeHead(given.statusCode ?? 500, given.headers);
      if (!/[?&]watch=true/.test(near.url ?? '') || given.statusCode !== 200) {
        given.pipe(answer);
        return;
      }
      const watch: Watch = {
        held: null,
        write: (line) => void answer.write(`${line}\n`),
        end: () => void answer.end(),
      };
      watches.add(watch);
      let rest = '';
      given.setEncoding('utf8');
      given.on('data', (piece: string) => {
        const lines = (rest + piece).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines.filter((one) => passes(one))) {
          if (watch.held) watch.held.push(line);
          else watch.write(line);
        }
      });
      given.on('error', () => answer.destroy());
      given.on('close', () => {
        watches.delete(watch);
        if (!watch.held) answer.end();
      });
    });
    const cut = (): void => {
      far.destroy();
      answer.destroy();
    };
    cuts.add(cut);
    far.on('error', () => answer.destroy());
    answer.on('error', () => {});
    answer.on('close', () => {
      cuts.delete(cut);
      far.destroy();
    });
    near.pipe(far);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const cutAll = (): void => {
    for (const cut of cuts) cut();
  };
  return {
    kubeconfig(token) {
      const config = JSON.parse(kubernetes.kubeconfig(token, `https://127.0.0.1:${port}`)) as {
        clusters: { cluster: Record<string, string> }[];
      };
      config.clusters[0]!.cluster['certificate-authority-data'] = Buffer.from(certificate.cert).toString(
        'base64',
      );
      return JSON.stringify(config);
    },
    let(wanted) {
      passes = wanted;
    },
    hold() {
      const held = [...watches];
      for (const watch of held) watch.held = [];
      return () => {
        for (const watch of held) {
          for (const line of watch.held ?? []) watch.write(line);
          watch.held = null;
        }
      };
    },
    turnTo(url) {
      target = new URL(url);
      cutAll();
    },
    async close() {
      cutAll();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
