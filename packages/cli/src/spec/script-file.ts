// Says when the script that a command starts was written on Windows. The file is looked at here, where the command is typed;
// the node may have another of that name, so this is told and nothing is refused.
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { crlfLine, isShell } from '@muster/model';

/** Enough for the first line of any script. */
const lookBytes = 4096;

/** The script, as the command names it, whose first line ends with CRLF; null when there is none. */
export function crlfScript(command: readonly string[], workdir: string): string | null {
  const [program = '', ...rest] = command;
  // A shell reads the file it is given; any other program is a file of its own when it is named by a path.
  const script = isShell(program) ? scriptOf(rest) : program.includes('/') ? program : undefined;
  if (script === undefined) return null;
  const start = startOf(resolve(workdir, script));
  const isScript = start.startsWith('#!') || isShell(program);
  return isScript && crlfLine(start) === 1 ? script : null;
}

/** The file among a shell's arguments; `-o pipefail`, also as the end of `-euo pipefail`, takes a word of its own. */
function scriptOf(words: readonly string[]): string | undefined {
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    if (!/^[-+]/.test(word)) return word;
    if (/^-[a-z]*c/.test(word)) return undefined;
    if (/^[-+][a-zA-Z]*[oO]$/.test(word)) at++;
  }
  return undefined;
}

function startOf(path: string): string {
  try {
    // Not to wait for a pipe.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(lookBytes);
      return bytes.toString('latin1', 0, readSync(file, bytes, 0, lookBytes, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    // Not a file that can be read here: nothing to say about it.
    return '';
  }
}
