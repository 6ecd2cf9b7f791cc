// The commands that start parts of the system.
import type { ExtraCommands } from '@muster/cli';

export const serverCommands: readonly ExtraCommands[] = [];
