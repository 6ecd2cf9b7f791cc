// Scripts inside a command: what `sh -c` is given. A line end of Windows is told before it becomes "not found" on a node,
// because the shell takes the CR for a part of the line's last word.

const shells = new Set(['sh', 'bash', 'dash', 'ash', 'ksh', 'mksh', 'zsh']);

export function isShell(program: string): boolean {
  return shells.has(program.slice(program.lastIndexOf('/') + 1));
}

/** The index of the script that a shell is given with -c, also as a part of flags such as -euc; null when there is none. */
export function inlineScript(words: readonly string[]): number | null {
  if (!isShell(words[0] ?? '')) return null;
  for (let i = 1; i < words.length; i++) {
    const word = words[i] ?? '';
    if (/^-[A-Za-z]*c[A-Za-z]*$/.test(word)) return i + 1 < words.length ? i + 1 : null;
    // What follows the script's name is the script's business.
    if (!/^[-+]./.test(word)) return null;
    // `-o pipefail`: the name of the option is a word of its own.
    if (/^[-+][A-Za-z]*[oO]$/.test(word)) i++;
  }
  return null;
}

/** The number of the first line that ends with CRLF; null when none does. */
export function crlfLine(text: string): number | null {
  const at = text.indexOf('\r\n');
  return at < 0 ? null : text.slice(0, at).split('\n').length;
}
