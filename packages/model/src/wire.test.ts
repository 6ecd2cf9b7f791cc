import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import type * as z from 'zod';
import type { NodeId, RunId } from './ids.ts';
import { type AgentMessage, agentMessageSchema, helloText } from './wire.ts';

/** The type without what a schema cannot say: brands of ids, and readonly. */
type Plain<T> = T extends string
  ? string extends T
    ? string
    : T extends NodeId | RunId
      ? string
      : T
  : T extends readonly (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { -readonly [Key in keyof T]: Plain<T[Key]> }
      : T;

test('the schema and the type of an agent message say the same, both ways', () => {
  // Checked by the compiler: `npm run check` fails when one of them has a field, a value or a message the other lacks.
  expectTypeOf<Plain<AgentMessage>>().toEqualTypeOf<Plain<z.output<typeof agentMessageSchema>>>();
  expectTypeOf<Plain<z.input<typeof agentMessageSchema>>>().toEqualTypeOf<Plain<AgentMessage>>();
});

const run = 'run_000000000000000000_1' as RunId;
const node = 'node_000000000000000000' as NodeId;
const failed = {
  ok: false,
  class: 'user',
  code: 1,
  signal: null,
  reason: { code: 'exit', message: 'exit code 1' },
} as const;

const hello: Extract<AgentMessage, { type: 'hello' }> = {
  type: 'hello',
  n: 1,
  protocol: 1,
  node,
  signature: 'c2ln',
  bootId: '3f0c',
  agentVersion: '0.1.0',
  isolation: false,
  inventory: {
    cpuMilli: 8000,
    memoryMib: 65_536,
    devices: [{ index: 0, kind: 'gpu', model: 'H100', memoryMib: 81_920, uuid: 'GPU-1' }],
    labels: { zone: 'a' },
    capabilities: ['signals'],
    address: '10.0.0.1',
    ports: { first: 30_000, count: 1000 },
  },
  epoch: 3,
  tasks: [
    { run, rank: 0, state: 'running', exit: null },
    { run, rank: 1, state: 'ended', exit: failed },
  ],
};

const messages: AgentMessage[] = [
  hello,
  { type: 'beat', n: 2, beat: 1, keys: [run] },
  {
    type: 'report',
    n: 3,
    report: 1,
    items: [
      { kind: 'started', run, rank: 0, pid: 77 },
      { kind: 'ended', run, rank: 0, exit: { ok: true } },
    ],
  },
  { type: 'done', n: 4, outbox: 9, outcome: 'stale-epoch', detail: null },
  { type: 'bytes', n: 5, read: 1, offset: 0, data: '', end: true, size: 0, error: null },
  { type: 'bye', n: 6, reason: 'stopping' },
];

describe('agent messages', () => {
  test.each(messages)('$type passes as it is', (message) => {
    expect(agentMessageSchema.parse(JSON.parse(JSON.stringify(message)))).toEqual(message);
  });

  test('there is a sample of every type', () => {
    const types: Record<AgentMessage['type'], true> = {
      hello: true,
      beat: true,
      report: true,
      done: true,
      bytes: true,
      bye: true,
    };
    expect(new Set(messages.map((message) => message.type))).toEqual(new Set(Object.keys(types)));
  });

  const inventory = (fields: object) => ({ ...hello, inventory: { ...hello.inventory, ...fields } });
  const device = hello.inventory.devices[0]!;
  test.each<[string, object]>([
    ['no type', { n: 1 }],
    ['an unknown type', { type: 'start', n: 1 }],
    ['an unknown field', { ...messages[5], more: 1 }],
    ['a missing field', { type: 'beat', n: 1, beat: 1 }],
    ['a negative number', { type: 'beat', n: -1, beat: 1, keys: [] }],
    ['a fraction', { type: 'beat', n: 1.5, beat: 1, keys: [] }],
    ['a number beyond 2^53', { type: 'beat', n: 2 ** 53, beat: 1, keys: [] }],
    ['a key that is no run id', { type: 'beat', n: 1, beat: 1, keys: ['run_1'] }],
    ['a key with a path in it', { type: 'beat', n: 1, beat: 1, keys: [`${run}/../x`] }],
    ['negative cores', inventory({ cpuMilli: -1 })],
    ['a device twice', inventory({ devices: [device, device] })],
    ['a gap in the devices', inventory({ devices: [{ ...device, index: 1 }] })],
    ['an unknown capability', inventory({ capabilities: ['magic'] })],
    ['port 0', inventory({ ports: { first: 0, count: 1 } })],
    [
      'an exit code of 256',
      { ...messages[2], items: [{ kind: 'ended', run, rank: 0, exit: { ...failed, code: 256 } }] },
    ],
    ['an end without exit', { ...messages[2], items: [{ kind: 'ended', run, rank: 0 }] }],
    ['a long reason', { type: 'bye', n: 1, reason: 'x'.repeat(2001) }],
  ])('%s is refused', (_, message) => {
    expect(agentMessageSchema.safeParse(message).success).toBe(false);
  });

  test('whatever an agent sends is an answer and never a crash', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...messages),
        fc.anything({ maxDepth: 2 }),
        fc.nat(),
        (message, junk, at) => {
          const keys = Object.keys(message);
          const spoiled = { ...message, [keys[at % keys.length] ?? 'n']: junk };
          expect(typeof agentMessageSchema.safeParse(spoiled).success).toBe('boolean');
        },
      ),
    );
  });
});

test('the text an agent signs is bound to its node and to the nonce', () => {
  expect(helloText('abc', node)).toBe(`muster-agent-hello:abc:${node}`);
});
