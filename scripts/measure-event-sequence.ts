// What the gap-free event number costs, for docs/decisions/0004: writers commit groups of events, numbered by a locked
// counter row as the last statement, or by a plain sequence. Also counts what a reader that resumes after the highest
// number seen would miss under each.
//
//   npx node scripts/measure-event-sequence.ts postgres://user:password@host/database
import pg from 'pg';

const url = process.argv[2];
if (!url) throw new Error('give the URL of a database in which a table may be made');
const secondsEach = 5;

const byCounter = `WITH head AS (UPDATE measured_head SET n = n + $1 RETURNING n - $1 AS base)
  INSERT INTO measured_event SELECT base + i, 'x' FROM head, generate_series(1, $1) AS i`;
const bySequence = `INSERT INTO measured_event SELECT nextval('measured_sequence'), 'x' FROM generate_series(1, $1) AS i`;

async function measure(
  name: string,
  statement: string,
  writers: number,
  eventsInGroup: number,
): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: writers + 1 });
  await pool.query(`DROP TABLE IF EXISTS measured_event, measured_head, measured_work;
    DROP SEQUENCE IF EXISTS measured_sequence;
    CREATE TABLE measured_event (sequence bigint PRIMARY KEY, body text);
    CREATE TABLE measured_work (writer int, at timestamptz);
    CREATE TABLE measured_head (n bigint NOT NULL); INSERT INTO measured_head VALUES (0);
    CREATE SEQUENCE measured_sequence`);
  const end = performance.now() + secondsEach * 1000;
  let groups = 0;
  let read = 0;
  let done = false;
  async function write(writer: number): Promise<void> {
    const client = await pool.connect();
    while (performance.now() < end) {
      await client.query('BEGIN');
      await client.query('INSERT INTO measured_work VALUES ($1, now())', [writer]);
      await client.query(statement, [eventsInGroup]);
      await client.query('COMMIT');
      groups++;
    }
    client.release();
  }
  async function tail(): Promise<void> {
    let last = 0;
    for (let over = false; !over; ) {
      // The look that begins after the last commit is the last one, so what it does not find was missed.
      over = done;
      const { rows } = await pool.query(
        'SELECT sequence FROM measured_event WHERE sequence > $1 ORDER BY 1',
        [last],
      );
      read += rows.length;
      last = Number(rows.at(-1)?.sequence ?? last);
    }
  }
  const tailing = tail();
  await Promise.all(Array.from({ length: writers }, (_, i) => write(i)));
  done = true;
  await tailing;
  const perSecond = Math.round(groups / secondsEach);
  const missed = groups * eventsInGroup - read;
  console.log(
    `${name.padEnd(8)} ${writers} writers, groups of ${eventsInGroup}: ${perSecond} groups/s, ${perSecond * eventsInGroup} events/s, reader missed ${missed}`,
  );
  await pool.end();
}

for (const [writers, eventsInGroup] of [
  [1, 20],
  [8, 20],
  [8, 500],
] as const) {
  await measure('counter', byCounter, writers, eventsInGroup);
  await measure('sequence', bySequence, writers, eventsInGroup);
}
