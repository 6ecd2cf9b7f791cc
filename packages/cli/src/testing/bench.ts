// A fake server and a user with a home folder, fresh for each test.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { FakeServer } from '@muster/client/testing';
import { afterEach, beforeEach } from 'vitest';
import { TestUser } from './test-terminal.ts';

export interface Bench {
  server: FakeServer;
  user: TestUser;
  logIn(name?: string): void;
}

export function testBench(): Bench {
  const bench = {
    logIn(name = 'default') {
      const { config } = bench.user;
      mkdirSync(dirname(config), { recursive: true });
      const profile = `  ${name}: { server: "${bench.server.url}", token: secret }\n`;
      writeFileSync(config, `current: ${name}\nprofiles:\n${profile}`, { mode: 0o600 });
    },
  } as Bench;
  beforeEach(async () => {
    bench.server = await FakeServer.start();
    bench.user = new TestUser();
  });
  afterEach(async () => {
    await bench.server.stop();
    bench.user.forget();
  });
  return bench;
}

export const problem = (code: string, status: number, detail: string, errors?: object[]) => ({
  status,
  json: { type: 'about:blank', title: code, status, code, detail, ...(errors ? { errors } : {}) },
});

export const page = (items: unknown[]) => ({ json: { items, next: null } });
