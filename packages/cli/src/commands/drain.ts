// muster drain and undrain: keep new work off a node while what runs there goes on, and let it back.
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { clean } from '../text/clean.ts';

export function drainCommand(cli: Cli): Command {
  return new Command('drain')
    .summary('keep new work off a node')
    .description('Keep new work off a node; what runs there goes on.')
    .argument('<node>', 'an id or a name')
    .requiredOption('--reason <text>', 'why, for whoever wonders')
    .action(
      cli.act(async (name: string, { reason }: { reason: string }) => {
        const node = await cli.client().nodes.drain(name, reason);
        cli.show(node, () =>
          cli.line(`${clean(node.name)} takes no new work; "muster undrain ${clean(node.name)}" ends that`),
        );
      }),
    );
}

export function undrainCommand(cli: Cli): Command {
  return new Command('undrain')
    .summary('let new work onto a node again')
    .description('Let new work onto a node again.')
    .argument('<node>', 'an id or a name')
    .action(
      cli.act(async (name: string) => {
        const node = await cli.client().nodes.undrain(name);
        cli.show(node, () =>
          cli.line(
            node.state === 'ready'
              ? `${clean(node.name)} takes new work again`
              : `${clean(node.name)} is no longer drained; it is ${node.state}, and takes new work once its agent is back`,
          ),
        );
      }),
    );
}
