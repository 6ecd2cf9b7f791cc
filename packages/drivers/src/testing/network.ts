// A network of a test's own: a bridge with an address of this machine on it, and network namespaces for nodes beside it. Names and
// addresses follow from a number that is taken by making the bridge, which succeeds once.
import { execFileSync } from 'node:child_process';
import { systemPath } from './components.ts';

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

export function freeNetwork(): TestNetwork {
  for (let number = 0; number < 60; number++) {
    const bridge = `muster${number}`;
    try {
      ip('link', 'add', bridge, 'type', 'bridge');
    } catch {
      continue;
    }
    return networkOn(bridge, `10.${190 + number}`);
  }
  throw new Error('no network is free for a test; only root can make one, and 60 are taken');
}

function networkOn(bridge: string, prefix: string): TestNetwork {
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
      for (const { name } of added.splice(0)) quietly('netns', 'delete', name);
      quietly('link', 'delete', bridge);
    },
  };
}
