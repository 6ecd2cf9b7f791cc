// What can go wrong in a virtual world. Each fault begins at some moment, lasts for a while and is healed; a seed has some kinds
// of them and not others, because a world in which everything fails at once shows less than one in which a few things do.
import type { Random } from '../random.ts';
import { fairWeather } from '../world/database-line.ts';
import type { Machine } from '../world/machine.ts';
import type { Server } from '../world/server.ts';
import type { VirtualWorld } from '../world/world.ts';

/** Begins now; answers how it ends. */
type Fault = (world: VirtualWorld, random: Random) => () => void;

const pick = <T>(random: Random, from: readonly T[]): T => from[random.below(from.length)] as T;
const nothing = (): void => {};

const anyMachine = (world: VirtualWorld, random: Random): Machine => pick(random, world.machines);
const anyServer = (world: VirtualWorld, random: Random): Server => pick(random, world.servers);

/** Between these machines and these servers; one way or both. */
function cut(
  world: VirtualWorld,
  random: Random,
  machines: readonly Machine[],
  servers: readonly Server[],
): () => void {
  const way = random.below(3);
  const ways = machines.flatMap((machine) => servers.map((server) => world.way(machine, server)));
  for (const one of ways) {
    if (way !== 1) one.toServer = false;
    if (way !== 2) one.toAgent = false;
  }
  return () => {
    for (const one of ways) {
      one.toServer = true;
      one.toAgent = true;
    }
    world.flush();
  };
}

function weather(
  world: VirtualWorld,
  servers: readonly Server[],
  change: (of: ReturnType<typeof fairWeather>) => void,
): () => void {
  const touched = servers.flatMap((server) => world.weather.get(server.id) ?? []);
  for (const one of touched) change(one);
  return () => {
    for (const one of touched) Object.assign(one, fairWeather());
  };
}

export const faults = {
  'server-killed': (world, random) => {
    const server = anyServer(world, random);
    server.kill();
    return () => server.boot();
  },
  'leader-killed': (world) => {
    const server = world.servers.find(({ leading }) => leading);
    server?.kill();
    return () => server?.boot();
  },
  'server-paused': (world, random) => {
    const { process } = anyServer(world, random);
    process.pause();
    return () => process.resume();
  },
  'leader-paused': (world) => {
    const process = world.servers.find(({ leading }) => leading)?.process;
    process?.pause();
    return () => process?.resume();
  },
  'database-away': (world) =>
    weather(world, world.servers, (one) => {
      one.reach = 'refused';
    }),
  'database-unreached': (world, random) =>
    weather(world, [anyServer(world, random)], (one) => {
      one.reach = 'hangs';
    }),
  'database-slow': (world, random) =>
    weather(world, world.servers, (one) => {
      one.delayMs = pick(random, [100, 700, 2500]);
    }),
  'commits-unanswered': (world, random) =>
    weather(world, world.servers, (one) => {
      one.lostCommit = pick(random, [0.05, 0.2, 0.5]);
    }),
  'hints-lost': (world) =>
    weather(world, world.servers, (one) => {
      one.lostHint = 0.9;
    }),
  'database-clock-jumps': (world, random) => {
    world.skewMs += pick(random, [20_000, 120_000, 3_600_000]);
    return nothing;
  },
  'agent-killed': (world, random) => {
    const machine = anyMachine(world, random);
    machine.killAgent();
    return () => machine.startAgent();
  },
  'agent-paused': (world, random) => {
    const machine = anyMachine(world, random);
    machine.pauseAgent();
    return () => machine.resumeAgent();
  },
  'supervisor-killed': (world, random) => {
    anyMachine(world, random).killSupervisor();
    return nothing;
  },
  'machine-off': (world, random) => {
    const machine = anyMachine(world, random);
    machine.powerOff();
    return () => machine.powerOn();
  },
  'machine-reclaimed': (world, random) => {
    const machine = anyMachine(world, random);
    machine.bye();
    const keep = world.scheduler.after(2000, () => machine.powerOff());
    return () => {
      keep();
      machine.powerOn();
    };
  },
  'machine-frozen': (world, random) => {
    const machine = anyMachine(world, random);
    machine.freeze();
    return () => machine.thaw();
  },
  'machine-shrinks': (world, random) => {
    const machine = anyMachine(world, random);
    const { devices } = machine.deps.inventory;
    machine.powerOff();
    machine.findDevices(random.below(devices.length));
    machine.powerOn();
    return () => {
      machine.powerOff();
      machine.findDevices(devices.length);
      machine.powerOn();
    };
  },
  'devices-unseen': (world, random) => {
    const machine = anyMachine(world, random);
    const { devices } = machine.deps.inventory;
    // What runs on them goes on: only the agent is started again.
    const startWith = (count: number): void => {
      machine.killAgent();
      machine.findDevices(count);
      machine.startAgent();
    };
    startWith(random.below(devices.length));
    return () => startWith(devices.length);
  },
  'connection-reset': (world, random) => {
    anyMachine(world, random).resetConnection();
    return nothing;
  },
  'machine-cut-off': (world, random) => cut(world, random, [anyMachine(world, random)], world.servers),
  'server-cut-off': (world, random) => cut(world, random, world.machines, [anyServer(world, random)]),
  'half-cut-off': (world, random) => {
    const half = world.machines.filter(() => random.chance(0.5));
    return cut(world, random, half, world.servers);
  },
  'slow-network': (world, random) => {
    const ways = world.machines.flatMap((machine) =>
      world.servers.map((server) => world.way(machine, server)),
    );
    for (const way of ways) way.delayMs = pick(random, [200, 2000]);
    return () => {
      for (const way of ways) way.delayMs = 5;
    };
  },
} as const satisfies Readonly<Record<string, Fault>>;

export type FaultKind = keyof typeof faults;

export interface PlannedFault {
  readonly atMs: number;
  readonly forMs: number;
  readonly kind: FaultKind;
}

/** What small worlds on a real database have more of: they are there for the statements, and for who may send them when. */
const aboutStatements: ReadonlySet<FaultKind> = new Set([
  'leader-killed',
  'leader-paused',
  'database-slow',
  'commits-unanswered',
  'agent-paused',
  'connection-reset',
  'slow-network',
]);

/** Which faults a seed has, and when. */
export function drawFaults(random: Random, untilMs: number, small: boolean): PlannedFault[] {
  const chance = (kind: FaultKind): number => (!small ? 0.35 : aboutStatements.has(kind) ? 0.7 : 0.2);
  const kinds = (Object.keys(faults) as FaultKind[]).filter((kind) => random.chance(chance(kind)));
  if (kinds.length === 0) return [];
  const count = 2 + random.below(14);
  return Array.from({ length: count }, () => ({
    atMs: 5000 + random.below(untilMs - 5000),
    forMs: pick(random, [300, 2000, 8000, 20_000, 45_000, 90_000]) * (0.5 + random.unit()),
    kind: pick(random, kinds),
  }));
}

/** Each begins and ends at its time; all are healed, whatever was, when the function it returns is called. */
export function schedule(
  world: VirtualWorld,
  random: Random,
  planned: readonly PlannedFault[],
  note: (line: string) => void,
): () => void {
  const healing = new Set<() => void>();
  for (const { atMs, forMs, kind } of planned)
    world.scheduler.after(atMs, () => {
      note(`${kind} for ${Math.round(forMs)} ms`);
      const heal = faults[kind](world, random);
      healing.add(heal);
      world.scheduler.after(forMs, () => {
        if (healing.delete(heal)) heal();
      });
    });
  return () => {
    for (const heal of healing) heal();
    healing.clear();
    for (const { process } of world.servers) process.resume();
    for (const server of world.servers) server.boot();
    for (const machine of world.machines) {
      machine.thaw();
      machine.resumeAgent();
      machine.powerOn();
      machine.startAgent();
    }
  };
}

/** The controller of a batch system is paused or killed, again and again; answers how that ends. */
export function troubleController(world: VirtualWorld, random: Random, untilMs: number): () => void {
  const cluster = world.batch?.cluster;
  if (!cluster) return nothing;
  const fail = (): void => {
    if (random.chance(0.5)) cluster.pause();
    else cluster.kill();
    world.scheduler.after(500 + random.below(25_000), () => cluster.heal());
  };
  // So long that its nodes fall silent and it counts as lost, while what it runs goes on.
  const long = random.split('long');
  if (long.chance(0.5))
    world.scheduler.after(long.below(untilMs / 2), () => {
      if (long.chance(0.5)) cluster.pause();
      else cluster.kill();
      world.scheduler.after(40_000 + long.below(80_000), () => cluster.heal());
    });
  for (let i = random.below(5); i > 0; i--)
    world.scheduler.after(random.below(untilMs), () => {
      const when = random.below(3);
      if (when === 0) fail();
      // Before a submit gets there, it is late; after, it may be forgotten.
      else cluster.atNextSubmit(() => world.scheduler.after(when === 1 ? 0 : 100 + random.below(2000), fail));
    });
  return () => cluster.heal();
}
