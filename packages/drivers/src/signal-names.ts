// The signal that an exit code tells of, where a shell or a container runtime adds 128 to its number.

/** Those that a program is commonly ended by; Linux numbers. */
const signalNames: Readonly<Record<number, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  10: 'SIGUSR1',
  11: 'SIGSEGV',
  12: 'SIGUSR2',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
  24: 'SIGXCPU',
  25: 'SIGXFSZ',
};

/** Null for a code that a program gave itself. */
export function signalOf(code: number): string | null {
  return code > 128 && code < 128 + 65 ? (signalNames[code - 128] ?? `signal ${code - 128}`) : null;
}
