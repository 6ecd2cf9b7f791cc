// muster version: this program's version, and the server's when it can be reached.
import type { VersionView } from '@muster/model';
import { Command } from 'commander';
import type { Cli, VersionInfo } from '../cli.ts';

const askMs = 2000;

export function versionCommand(cli: Cli): Command {
  return new Command('version')
    .summary('versions of this program and the server')
    .description('The versions of this program and, when it can be reached, of the server.')
    .action(
      cli.act(async () => {
        const client = cli.version;
        const server = await serverVersion(cli);
        cli.show({ client, server }, () => {
          cli.line(`client  ${text(client)}`);
          cli.line(`server  ${server ? text(server) : 'not reached'}`);
        });
      }),
    );
}

async function serverVersion(cli: Cli): Promise<VersionView | null> {
  try {
    return await cli.client().version({ timeoutMs: askMs, signal: AbortSignal.timeout(askMs) });
  } catch {
    return null;
  }
}

function text({ version, commit, schema }: VersionInfo): string {
  return `${version}  commit ${commit}${schema === null ? '' : `  schema ${schema}`}`;
}
