// muster clusters set: another configuration of a cluster that was added, without taking it away.
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../failure.ts';
import { type ConfigFlags, changedConfig, withConfig } from '../spec/cluster-config.ts';
import { clean } from '../text/clean.ts';

export function setCommand(cli: Cli): Command {
  const command = new Command('set')
    .summary('change the configuration of a cluster')
    .description(
      'Change the configuration of a cluster that was added; what runs there goes on. Flags change what they name, a file says all of it\n' +
        'anew. It is looked at with the new configuration first. What says which cluster it is may not change while runs are on it. Example:\n' +
        '  muster clusters set alpha --region north --lost-after 5m',
    )
    .argument('<cluster>', 'its name');
  return withConfig(command)
    .option('--untested', 'change it although it does not answer so now')
    .action(
      cli.act(async (name: string, { untested, ...flags }: ConfigFlags & { untested?: boolean }) => {
        const { clusters } = cli.client();
        const { config: before } = await clusters.get(name);
        if (before === null)
          throw new CliFailure(
            `cluster ${clean(name)} was never added and exists by its agents; add it to say more of it`,
          );
        const { config, located } = await changedConfig(cli, flags, before);
        if (!untested && config.kind !== 'agent') {
          const found = await located(clusters.testConfig(config));
          if (!found.answered)
            throw new CliFailure(
              `${clean(found.error ?? '')}; nothing was changed (--untested changes it all the same)`,
            );
        }
        const cluster = await located(clusters.set(name, config));
        cli.show(cluster, () => cli.line(`cluster ${clean(name)} is changed; what runs there goes on`));
      }),
    );
}
