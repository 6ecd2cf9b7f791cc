// A guide as a test: a real system, the files that the guide shows, and its commands run by the real program.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type AgentOptions, freePort, startSystem, type TestSystem } from './system.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

export interface Guide {
  readonly text: string;
  /** The lines of its console blocks that begin with "$ muster", without that. */
  readonly commands: readonly string[];
}

export function guide(name: string): Guide {
  const text = readFileSync(join(root, 'docs/guide', name), 'utf8');
  const commands = [...text.matchAll(/```console\n([\s\S]*?)```/g)]
    .flatMap(([, block]) => block!.split('\n'))
    .filter((line) => line.startsWith('$ muster '))
    .map((line) => line.slice('$ muster '.length));
  return { text, commands };
}

export interface GuidedSystem extends TestSystem {
  readonly port: number;
  /** The program, as the admin, in the folder where the guide's files are; what it says on either stream. */
  muster(...args: string[]): Promise<{ readonly code: number; readonly output: string }>;
}

/** Blocks that begin with the comment "# name" are files of that name. */
export async function startGuided({ text }: Guide, agents: readonly AgentOptions[]): Promise<GuidedSystem> {
  const port = await freePort();
  const system = await startSystem([{ name: 'server', port }]);
  for (const agent of agents) await system.startAgent(agent);
  writeFileSync(join(system.dir, 'token'), system.adminToken, { mode: 0o600 });
  for (const [, name, content] of text.matchAll(/```ya?ml\n# (\S+)\n([\s\S]*?)```/g))
    writeFileSync(join(system.dir, name!), content!);
  const connection = ['--server', `http://127.0.0.1:${port}`, '--token-file', join(system.dir, 'token')];
  return {
    ...system,
    port,
    async muster(...args) {
      const all = [join(root, 'packages/muster/bin/muster.js'), ...connection, ...args];
      try {
        const { stdout, stderr } = await run(process.execPath, all, { cwd: system.dir });
        return { code: 0, output: stdout + stderr };
      } catch (error) {
        const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
        return { code, output: stdout + stderr };
      }
    },
  };
}
