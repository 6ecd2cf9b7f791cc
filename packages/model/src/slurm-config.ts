// How a Slurm cluster is reached, who pays there, and what its devices are: Slurm tells their type and count, nothing else.
import * as z from 'zod';
import { absolutePath, clusterCommon, clusterDriven, portRange } from './cluster-common.ts';
import { isAcceleratorModel, isProjectPath, projectCovers, projectRule } from './names.ts';
import { parseSizeMib } from './units.ts';

const word = z
  .string()
  .max(255)
  .refine((text) => /^[\w.][\w.-]*$/.test(text), 'must be one word of letters, digits, ".", "_" and "-"');

const billing = {
  partition: word.optional().meta({ description: "Slurm's default when left out" }),
  account: word.optional(),
  qos: word.optional(),
};

const device = z.strictObject({
  model: z
    .string()
    .refine(isAcceleratorModel, 'must be a model such as H100')
    .optional()
    .meta({ description: 'what jobs ask for; a known model of the same letters when left out' }),
  memory: z
    .string()
    .refine((text) => parseSizeMib(text).ok, 'must be a size such as 80GiB')
    .optional()
    .meta({ description: 'of one device' }),
});

/** ssh reads "%" and blanks in the names of files as signs of its own. */
const plainPath = absolutePath.refine((path) => /^[\w@.+/-]+$/.test(path), {
  message: 'must be an absolute path of letters, digits, "_", "@", ".", "+" and "-"',
});

const ssh = z.strictObject({
  host: z
    .string()
    .max(253)
    .refine(
      (text) => /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text),
      'must be a host name or address',
    )
    .meta({ description: 'a login node of the cluster' }),
  user: word.optional().meta({ description: 'the account there; the one of the server when left out' }),
  port: z.int().min(1).max(65_535).default(22),
  key: plainPath.optional().meta({
    description: 'a private key file of the server, without a passphrase; what ssh finds when left out',
  }),
  knownHosts: plainPath.optional().meta({
    description:
      'a file with the key of the host; the known hosts of the server when left out. An unknown host is refused',
  }),
});

export const slurmConfigSchema = z.strictObject({
  kind: z.literal('slurm'),
  ...clusterCommon,
  ...clusterDriven,
  directory: absolutePath.meta({
    description:
      'a directory that every node of the cluster sees, and the server, or with ssh the login node',
  }),
  ssh: ssh.optional().meta({
    description:
      'runs the commands of Slurm on a login node, by ssh; on the machine of the server when left out',
  }),
  conf: absolutePath
    .optional()
    .meta({ description: "Slurm's configuration file, where it is not the usual one" }),
  checkpoints: absolutePath.optional().meta({
    description:
      'a directory that every node sees; each job gets one of its own below it, as MUSTER_CHECKPOINT_DIR',
  }),
  ...billing,
  projects: z
    .record(z.string().refine(isProjectPath, `must be ${projectRule}`), z.strictObject(billing))
    .default({})
    .meta({ description: 'partition, account and QoS of projects; the nearest project above counts' }),
  devices: z
    .record(word, device)
    .default({})
    .meta({ description: "by Slurm's type of the generic resource gpu" }),
  ports: portRange.default({ first: 20_000, count: 1000 }),
});

export type SlurmConfig = z.output<typeof slurmConfigSchema>;
export type SlurmSsh = z.output<typeof ssh>;
export type SlurmBilling = Pick<SlurmConfig, 'partition' | 'account' | 'qos'>;

/** What the nearest project says, and where it says nothing, what the cluster says. */
export function slurmBilling(config: SlurmConfig, project: string): SlurmBilling {
  const above = Object.keys(config.projects)
    .filter((path) => projectCovers(path, project))
    .sort((a, b) => a.length - b.length);
  const { partition, account, qos } = config;
  const said = above.map((path) => config.projects[path] ?? {});
  return Object.assign({}, ...[{ partition, account, qos }, ...said].map(withoutNothing)) as SlurmBilling;
}

function withoutNothing(billing: SlurmBilling): SlurmBilling {
  return Object.fromEntries(Object.entries(billing).filter(([, value]) => value !== undefined));
}
