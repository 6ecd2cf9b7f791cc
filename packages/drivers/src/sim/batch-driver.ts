// The driver of the simulator's batch systems, which behave as Slurm or Kubernetes do: they are asked by name, because ids are
// reused; a submit that was not answered may have been taken all the same, so the name is looked for before it is submitted
// again, and what starts twice in spite of that is stopped by the key it has to claim first.
import {
  type NodeId,
  OperationalError,
  type RunId,
  type StartCommand,
  type StopCommand,
  type TaskReport,
} from '@muster/model';
import type { CommandAnswer, CommandTarget, Driver, OutputAnswer, OutputRequest } from '../contract.ts';

/** Every question rejects when no answer came. */
export interface BatchSystem {
  submit(node: NodeId, command: StartCommand, epoch: number): Promise<'taken' | 'stale-epoch'>;
  cancel(node: NodeId, command: StopCommand, epoch: number): Promise<'taken' | 'stale-epoch'>;
  /** What it has of a run on a node, ended or not; nothing when it knows no such name. */
  find(node: NodeId, run: RunId): Promise<readonly TaskReport[]>;
  output(request: OutputRequest): Promise<OutputAnswer>;
}

export function createBatchDriver(system: BatchSystem): Driver {
  return {
    capabilities: { has: ['signals'], assigns: 'count' },
    submit: (target, command) => answered(() => submit(system, target, command)),
    stop: ({ node, epoch }, command) =>
      answered(async () => outcomeOf(await system.cancel(node, command, epoch))),
    async find(node, run) {
      try {
        return await system.find(node, run);
      } catch {
        return null;
      }
    },
    async output(request) {
      try {
        return await system.output(request);
      } catch (error) {
        throw new OperationalError('node-unreachable', `the cluster of ${request.node} does not answer`, {
          cause: error,
        });
      }
    },
  };
}

async function submit(
  system: BatchSystem,
  { node, epoch }: CommandTarget,
  command: StartCommand,
): Promise<CommandAnswer> {
  const held = await system.find(node, command.run);
  if (held.length > 0) return { outcome: 'accepted' };
  return outcomeOf(await system.submit(node, command, epoch));
}

function outcomeOf(answer: 'taken' | 'stale-epoch'): CommandAnswer {
  return { outcome: answer === 'taken' ? 'accepted' : 'stale-epoch' };
}

async function answered(ask: () => Promise<CommandAnswer>): Promise<CommandAnswer> {
  try {
    return await ask();
  } catch {
    return { outcome: 'unknown' };
  }
}
