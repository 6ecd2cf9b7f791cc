// Runs a block of tests on every PostgreSQL there is, each with servers of its own.
import { afterAll, beforeAll, describe } from 'vitest';
import { notRun } from './not-run.ts';
import { serverKinds, type TestServer } from './servers.ts';

const startMs = 60_000;

export function onEveryServer(body: (server: () => TestServer) => void): void {
  const { kinds, missing } = serverKinds();
  for (const kind of kinds) {
    describe(`on ${kind.name}`, () => {
      let server: TestServer | null = null;
      beforeAll(async () => {
        server = await kind.start();
      }, startMs);
      afterAll(async () => {
        await server?.stop();
      }, startMs);
      body(() => server as TestServer);
    });
  }
  if (missing !== null) notRun(missing);
}
