// The exit codes, in one table: `muster help exit-codes` prints it and nothing returns another.

export const exit = {
  ok: 0,
  failed: 1,
  usage: 2,
  unknown: 3,
  removed: 4,
  interrupted: 130,
  brokenPipe: 141,
} as const;

export const exitCodeTable: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'done; for run, wait and submit --wait: every job succeeded'],
  [
    '1',
    'refused or failed: the server said no, or a file is not a valid job; for replay: a decision came out otherwise',
  ],
  [
    '2',
    'the command line is wrong, a file cannot be read, or no server is configured; for agent: the server does not take its token or name',
  ],
  ['3', 'the server cannot be reached, or it is not known whether the request took effect'],
  ['4', 'agent: an operator removed this node, and no new token brings it back'],
  ['130', 'Ctrl-C'],
  ['141', 'the reader of the output went away (broken pipe)'],
];

export const jobExitNote = [
  'run, wait and submit --wait end with the code of the job: the exit code of the task that decided',
  '(the first that failed), 128 + n when signal n ended it, 1 when there is neither (a lost node, a',
  'cancel before it ran). Of several jobs, the first given one that did not succeed decides.',
];
