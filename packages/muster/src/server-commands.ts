// The commands that need more than the SDK: those that start parts of the system, and the simulator.
import type { ExtraCommands } from '@muster/cli';
import { agentCommand } from './commands/agent-flags.ts';
import { serverCommand } from './commands/server-flags.ts';
import { simulateCommand } from './commands/simulate-flags.ts';
import { upCommand } from './commands/up-flags.ts';

export const serverCommands: readonly ExtraCommands[] = [
  { heading: 'System', commands: [upCommand, serverCommand, agentCommand] },
  { heading: 'Questions', commands: [simulateCommand] },
];
