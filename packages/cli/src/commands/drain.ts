// muster drain and undrain: keep new work off a node while what runs there goes on, and let it back.
import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { clean } from '../text/clean.ts';
import { movedCode, tellMoved } from './move.ts';

export function drainCommand(cli: Cli): Command {
  return new Command('drain')
    .summary('keep new work off a node')
    .description(
      'Keep new work off a node; what runs there goes on. With --move it goes on elsewhere: each run is asked for a checkpoint,\n' +
        'stopped with its grace and started on other nodes.',
    )
    .argument('<node>', 'an id or a name')
    .requiredOption('--reason <text>', 'why, for whoever wonders')
    .option('--move', 'move what runs there to other nodes')
    .action(
      cli.act(async (name: string, { reason, move }: { reason: string; move?: boolean }) => {
        const { nodes } = cli.client();
        const node = await nodes.drain(name, reason);
        const moved = move ? (await nodes.move(name, reason)).items : null;
        cli.show(moved ? { ...node, moved } : node, () => {
          cli.line(`${clean(node.name)} takes no new work; "muster undrain ${clean(node.name)}" ends that`);
          if (moved) tellMoved(cli, moved);
        });
        return movedCode(moved ?? []);
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
