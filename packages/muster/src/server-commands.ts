// The commands that start parts of the system.
import type { ExtraCommands } from '@muster/cli';
import { agentCommand } from './commands/agent-flags.ts';
import { serverCommand } from './commands/server-flags.ts';

export const serverCommands: readonly ExtraCommands[] = [
  { heading: 'System', commands: [serverCommand, agentCommand] },
];
