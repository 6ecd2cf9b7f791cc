import { expect, test } from 'vitest';
import { page, testBench } from './testing/bench.ts';
import { jobId, jobView, now } from './testing/sample-views.ts';

const bench = testBench();

/** So many jobs; the look after `looks` of them is ended by Ctrl-C. */
function jobs(count: number, looks: number): void {
  bench.logIn();
  let looked = 0;
  bench.server.on('GET /v1/jobs', ({ query }) => {
    if (query.get('state') === 'ended') return page([]);
    if (looked++ === looks) bench.user.interrupt();
    const state = looked === 1 ? 'queued' : 'running';
    return page(
      'abcdefghij'
        .slice(0, count)
        .split('')
        .map((c) => jobView({ id: jobId(c), state })),
    );
  });
  // The log moves all the time, also when nothing of it is to be seen here.
  bench.server.on('GET /v1/events', () => (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let sequence = 0;
    const tell = (): void => {
      sequence++;
      response.write(`id: log.${sequence}\ndata: {"kind":"job.started","sequence":${sequence}}\n\n`);
    };
    const timer = setInterval(tell, 20);
    response.on('close', () => clearInterval(timer));
  });
}

const screens = (stdout: string): string[] => stdout.split('\x1b[H').slice(1);

test('on a terminal the view is drawn again in place, and Ctrl-C ends it', async () => {
  jobs(2, 2);
  const { code, stdout } = await bench.user.run(['ps', '--watch'], {
    tty: true,
    columns: 100,
    rows: 24,
    nowMs: now,
  });
  expect(code).toBe(130);
  expect(stdout.startsWith('\x1b[2J')).toBe(true);
  const [first, second] = screens(stdout);
  expect([first, second].map((screen) => /queued|running/.exec(screen ?? '')?.[0])).toEqual([
    'queued',
    'running',
  ]);
});

test.each([
  [4, ['…', '9 more']],
  // A terminal that does not know its size is taken for one of the usual size.
  [0, [jobId('j')]],
])('a screen of %i rows shows what has room', async (rows, shown) => {
  jobs(10, 1);
  const { stdout } = await bench.user.run(['ps', '--watch'], { tty: true, columns: 100, rows, nowMs: now });
  for (const text of shown) expect(screens(stdout)[0]).toContain(text);
});

test('elsewhere each view is printed below the last, and only when it changed', async () => {
  jobs(1, 3);
  const { stdout } = await bench.user.run(['ps', '--watch'], { nowMs: now });
  expect(stdout.match(/queued|running/g)).toEqual(['queued', 'running']);
  expect(stdout).not.toContain('\x1b');
});
