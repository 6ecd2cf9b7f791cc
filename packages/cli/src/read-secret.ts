// Asks for a secret at the terminal without showing it.
import { exit } from './exit-codes.ts';
import { CliFailure } from './failure.ts';
import type { Terminal } from './terminal.ts';

const enter = new Set(['\r', '\n', '\x04']);
const backspace = new Set(['\x7f', '\b']);

export async function readSecret({ stdin, stderr }: Terminal, prompt: string): Promise<string> {
  stderr.write(prompt);
  stdin.setRawMode?.(true);
  let secret = '';
  try {
    for await (const piece of stdin) {
      for (const char of typeof piece === 'string' ? piece : Buffer.from(piece).toString('utf8')) {
        // In raw mode Ctrl-C is a character, not a signal.
        if (char === '\x03') throw new CliFailure('', exit.interrupted);
        if (enter.has(char)) return secret;
        if (backspace.has(char)) secret = secret.slice(0, -1);
        else if (char === '\x15') secret = '';
        else secret += char;
      }
    }
    return secret;
  } finally {
    stdin.setRawMode?.(false);
    stderr.write('\n');
  }
}
