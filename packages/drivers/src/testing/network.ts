// A network of a test's own: a bridge with an address of this machine on it, and network namespaces for nodes beside it. Names and
// addresses follow from a number that one process holds at a time. What there is of a number that nobody holds was left by a run
// that was killed, and is taken away first.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { systemPath } from './components.ts';
import { hold } from './held-names.ts';

export interface TestNetwork {
  /** This machine's address on it. */
  readonly host: string;
  /** A network namespace with an address of its own, and a subnet for its pods that the others have a route to. */
  addNode(index: number): NodeNetwork;
  remove(): void;
}

export interface NodeNetwork {
  /** What enters it. */
  readonly enter: readonly string[];
  readonly address: string;
  readonly pods: string;
}

const env = { ...process.env, PATH: systemPath };

export function ip(...args: string[]): void {
  execFileSync('ip', args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
}

function quietly(...args: string[]): void {
  try {
    ip(...args);
  } catch {
    // It is not there.
  }
}

const networksMax = 60;
const firstBlock = 130;

export async function freeNetwork(): Promise<TestNetwork> {
  for (let number = 0; number < networksMax; number++) {
    const prefix = `10.${firstBlock + number}`;
    const bridge = `mtest${number}`;
    const letGo = isForeign(prefix, bridge) ? null : await hold(`network-${number}`);
    if (!letGo) continue;
    takeAway(bridge);
    try {
      ip('link', 'add', bridge, 'type', 'bridge');
    } catch (error) {
      letGo();
      throw new Error(`no network can be made for a test: ${String(error)}`);
    }
    return networkOn(bridge, prefix, letGo);
  }
  throw new Error(`no network is free for a test: ${networksMax} are taken`);
}

/** This machine has addresses there that are not a test's. */
function isForeign(prefix: string, bridge: string): boolean {
  return Object.entries(networkInterfaces()).some(
    ([name, own]) => name !== bridge && own?.some(({ address }) => address.startsWith(`${prefix}.`)),
  );
}

function takeAway(bridge: string): void {
  for (const name of namespaces().filter((one) => one.startsWith(`${bridge}-n`)))
    quietly('netns', 'delete', name);
  quietly('link', 'delete', bridge);
}

function namespaces(): string[] {
  try {
    return readdirSync('/run/netns');
  } catch {
    return [];
  }
}

function networkOn(bridge: string, prefix: string, letGo: () => void): TestNetwork {
  const host = `${prefix}.0.1`;
  ip('address', 'add', `${host}/24`, 'dev', bridge);
  ip('link', 'set', bridge, 'up');
  const added: { readonly name: string; readonly address: string; readonly pods: string }[] = [];
  return {
    host,
    addNode(index) {
      const name = `${bridge}-n${index}`;
      const address = `${prefix}.0.${10 + index}`;
      const pods = `${prefix}.${10 + index}.0/24`;
      const near = `${bridge}v${index}`;
      ip('netns', 'add', name);
      ip('link', 'add', near, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('link', 'set', near, 'master', bridge, 'up');
      const inside = (...args: string[]): void => ip('-netns', name, ...args);
      inside('link', 'set', 'lo', 'up');
      inside('address', 'add', `${address}/24`, 'dev', 'eth0');
      inside('link', 'set', 'eth0', 'up');
      inside('route', 'add', 'default', 'via', host);
      ip('route', 'add', pods, 'via', address, 'dev', bridge);
      for (const other of added) {
        inside('route', 'add', other.pods, 'via', other.address);
        ip('-netns', other.name, 'route', 'add', pods, 'via', address);
      }
      added.push({ name, address, pods });
      const enter = ['nsenter', `--net=/run/netns/${name}`, '--'];
      const [program = '', ...rest] = [...enter, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'];
      execFileSync(program, rest, { env });
      return { enter, address, pods };
    },
    remove() {
      takeAway(bridge);
      letGo();
    },
  };
}
