// A Slurm cluster as its configuration says, for the control plane: commands and the shared directory of this machine, or of a login
// node over ssh.
import { defaultHardware, parseSizeMib, type SlurmConfig, slurmBilling } from '@muster/model';
import type { Listing, ListingContext, ListingDriver } from '../listing-driver.ts';
import { bashOver, slurmCommands } from './commands.ts';
import { inventoryOf } from './inventory.ts';
import type { SlurmNode } from './listing.ts';
import { OthersDevices } from './others-devices.ts';
import { remoteFiles } from './remote-files.ts';
import { runDirectories } from './run-directory.ts';
import { localFiles } from './shared-files.ts';
import type { Sight } from './sight.ts';
import { createSlurmDriver } from './slurm-driver.ts';
import { sshLines } from './ssh.ts';

/** Longer than the ten seconds for which sbatch itself waits for a controller. */
const commandTimeoutMs = 15_000;
const tidyEveryMs = 3_600_000;
/** Output of a run that is over, and the word that it is: no submit of it comes so late. */
const keepMs = 7 * 24 * 3_600_000;

export function openSlurm(config: SlurmConfig, { nodeName, ownership }: ListingContext): ListingDriver {
  const env: Record<string, string> = config.conf === undefined ? {} : { SLURM_CONF: config.conf };
  const over = config.ssh && sshLines(config.ssh);
  const files = over ? remoteFiles(bashOver(over, commandTimeoutMs)) : localFiles;
  const directories = runDirectories(config.directory, files, ownership);
  const others = new OthersDevices();
  let tidyAtMs = 0;

  /** A look is what happens often; what goes wrong with the file system it meets by itself. */
  function tidyNowAndThen(): void {
    if (performance.now() < tidyAtMs) return;
    tidyAtMs = performance.now() + tidyEveryMs;
    directories.tidy(keepMs).catch(() => {});
  }

  const where = over ? 'on the login node' : 'on the machine of the server';

  /** Without its configuration a command of Slurm waits for a controller that nobody named. */
  async function checkConf(): Promise<void> {
    if (config.conf !== undefined && (await files.mode(config.conf).catch(() => 0)) === null)
      throw new Error(`Slurm's configuration file ${config.conf} (conf) is not there ${where}`);
  }

  function withCause(error: unknown): never {
    if (config.conf === undefined && String(error).includes('Could not establish a configuration source'))
      throw new Error(
        `Slurm's commands find no configuration ${where}; say where its slurm.conf is with conf (--conf), or put it where they look (/etc/slurm)`,
      );
    throw error;
  }

  const driver = createSlurmDriver({
    commands: slurmCommands({ env, timeoutMs: commandTimeoutMs, ...(over ? { over } : {}) }),
    installation: ownership.owner.installation,
    directories,
    nodeName,
    billing: (project) => slurmBilling(config, project),
    checkpointDirectory: config.checkpoints,
  });
  return {
    ...driver,
    async look() {
      tidyNowAndThen();
      await checkConf();
      return listingOf(await driver.look().catch(withCause), config, others);
    },
    // Every look asks anew.
    catchUp: async () => {},
    close: async () => over?.close(),
  };
}

const none: ReadonlySet<number> = new Set();

export function listingOf(sight: Sight, config: SlurmConfig, others = new OthersDevices()): Listing {
  const { nodes, switches, boot, settled, reports, taken, planned } = sight;
  const settings = { ports: config.ports, device: (type: string) => deviceOf(config, type) };
  return {
    boot,
    settled,
    nodes: nodes.map((node) => {
      const held = taken.get(node.name);
      const theirs = others.of(node, held, planned.get(node.name) ?? none);
      const inventory = inventoryOf(node, switches.get(node.name) ?? new Map(), settings, held, theirs);
      return { name: node.name, inventory, closed: closedOf(node, config, nodes) };
    }),
    reports: Map.groupBy(reports, ({ node }) => node),
  };
}

/** A model of the same letters is the one that people ask for: sites write types in lower case. */
function deviceOf(
  { devices }: SlurmConfig,
  type: string,
): { readonly model: string; readonly memoryMib: number } {
  const said = devices[type];
  const known = defaultHardware.find(({ model }) => model.toLowerCase() === type.toLowerCase());
  const size = parseSizeMib(said?.memory ?? '');
  return {
    model: said?.model ?? known?.model ?? (type === '' ? 'unknown' : type),
    memoryMib: size.ok ? size.value : 0,
  };
}

export function closedOf(
  { usable, state, reason, partitions }: SlurmNode,
  config: SlurmConfig,
  all: readonly SlurmNode[],
): string | null {
  if (!usable) return reason === '' ? `Slurm says ${state}` : `Slurm says ${state}: ${reason}`;
  const wanted = [config, ...Object.values(config.projects)].flatMap(({ partition }) => partition ?? []);
  if (config.partition === undefined || wanted.some((partition) => partitions.includes(partition)))
    return null;
  const there = [...new Set(all.flatMap((node) => node.partitions))];
  if (wanted.some((partition) => there.includes(partition)))
    return `it is in none of the partitions ${wanted.join(', ')}`;
  const what = wanted.length === 1 ? `partition ${wanted[0]}` : `partitions ${wanted.join(', ')}`;
  return `Slurm has no ${what}; it has ${there.join(', ') || 'none'}`;
}
