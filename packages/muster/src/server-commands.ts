// The commands that start parts of the system.
import type { ExtraCommands } from '@muster/cli';
import { agentCommand } from './commands/agent-flags.ts';
import { serverCommand } from './commands/server-flags.ts';
import { upCommand } from './commands/up-flags.ts';

export const serverCommands: readonly ExtraCommands[] = [
  { heading: 'System', commands: [upCommand, serverCommand, agentCommand] },
];
