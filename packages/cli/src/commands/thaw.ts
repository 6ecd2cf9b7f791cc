// muster thaw: end the freeze of a cluster that fell silent as a whole.
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { clean } from '../text/clean.ts';

export function thawCommand(cli: Cli): Command {
  return new Command('thaw')
    .summary('let jobs of a frozen cluster start elsewhere')
    .description(
      'When many nodes of a cluster fall silent at once it is frozen: nothing on it is started elsewhere, because its jobs\n' +
        'may well go on. Thaw it when you know that they do not.',
    )
    .argument('<cluster>', 'its name')
    .action(
      cli.act(async (name: string) => {
        const thawed = await cli.client().nodes.thaw(name);
        cli.show(thawed, () => cli.line(`cluster ${clean(name)} is no longer frozen`));
      }),
    );
}
