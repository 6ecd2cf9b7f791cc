// The executable. Client commands live in the CLI; those that need server parts are added here and load them only when
// they run, so that `muster ps` starts without a web server in its pockets.
import { runCli } from '@muster/cli';
import { leave, processTerminal } from './process-terminal.ts';
import { serverCommands } from './server-commands.ts';
import { versionInfo } from './version.ts';

const code = await runCli(process.argv.slice(2), processTerminal(), {
  version: versionInfo(),
  extra: serverCommands,
});
await leave(code);
