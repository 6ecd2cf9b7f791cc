import { type EventKind, eventVersions } from '@muster/model';
import { code, page, table } from './markdown.ts';

/** The compiler refuses a kind that is missing here or that no longer exists. */
const meanings: Readonly<Record<EventKind, string>> = {
  'job.submitted': 'a job was accepted; the submit is durable from here on',
  'job.held': 'somebody keeps the job from starting',
  'job.released': 'it may start again',
  'job.stopping': 'a cancel was accepted while a run lives; its end follows',
  'job.requeued': 'its run ended and another attempt will start, not before the time given',
  'job.moving':
    'somebody wants it elsewhere: its run is stopped, and the next one is to be where the place says',
  'job.unmoved': 'where it is to be is taken back',
  'job.claimed': 'runs of others are stopped for this job, and their room is kept for it',
  'job.unclaimed': 'it gives that room up, and why',
  'job.dropped': 'members of an array that never started will not, because somebody cancelled them',
  'job.ended': 'the job is over, with its result',
  'run.planned': 'an attempt has its nodes and devices, by the epoch given',
  'run.starting': 'the start was sent to the nodes at least once',
  'run.running': 'every task has started',
  'run.checkpointed': 'the run told that its work is saved; told at most every few seconds',
  'run.stopping': 'the run is being stopped, and why; when for another job, which',
  'run.halted':
    'somebody holds, delays or suspends it in its cluster, not through Muster: what was done, by whom where known, and what lets it go on',
  'run.unhalted': 'nobody keeps it in its cluster any more',
  'run.unknown': 'a node of the run fell silent; the run keeps its capacity',
  'run.seen': 'the run was seen again after silence',
  'run.ended': 'every task is over, by proof',
  'task.failed': 'a task of a gang failed; the gang is stopped',
  'plan.dropped': 'a decision was not applied because the world had moved; it is made anew',
  'node.joined': 'a machine enrolled',
  'node.changed': 'its inventory changed',
  'node.ready': 'it is heard from again',
  'node.silent': 'it did not renew in time; what runs there is unknown',
  'node.lost': 'every lease on it ran out, or an operator said that it is gone; what ran there is over',
  'node.drained': 'new work is kept off it, by an operator or, as a quarantine, by Muster',
  'node.undrained': 'it takes new work again',
  'node.trusted': 'an operator said how far work on it is trusted to come to its end, in thousandths',
  'node.struck':
    'its agent sent what a correct agent never sends: how often so far, and whether that was counted, made a quarantine, or was too much for the pool',
  'node.removed': 'it is gone for good',
  'cluster.frozen': 'many nodes fell silent at once; nothing there is declared lost until the time given',
  'cluster.thawed': 'the freeze is over, by the word of a person or by its bound',
  'cluster.added': 'an operator connected a cluster',
  'cluster.changed': 'an operator gave it another configuration',
  'cluster.removed': 'an operator removed a cluster, and its nodes with it',
  'cluster.drained': 'an operator keeps new work off all nodes of a cluster',
  'cluster.undrained': 'the nodes of a cluster take work again',
  'cluster.connected': 'the cluster answers',
  'cluster.degraded':
    'the cluster has not answered for a minute: nothing new is put there, what runs there goes on',
  'cluster.lost':
    'the cluster has not answered for a quarter of an hour; what ran there waits for proof of its end',
  'project.created': 'a project came to be',
  'project.removed': 'a project is gone',
  'policy.changed': 'tiers or defaults changed',
  'leader.changed': 'another server decides from here on, with the next epoch',
};

export function eventsPage(): string {
  return page(
    'Events',
    'The log has every change in commit order, numbered without gaps: a reader that resumes after number N misses nothing. Bodies never hold commands, environments or secrets. Their fields are in `packages/model/src/event.ts`. A body is the fact as it is stored, so its times are milliseconds since 1970, in fields that end in `Ms`; `at` beside it, as every time of other answers, is RFC 3339.',
    table(
      ['kind', 'version', 'what happened'],
      Object.entries(meanings).map(([kind, text]) => [
        code(kind),
        String(eventVersions[kind as EventKind] ?? 1),
        text,
      ]),
    ),
  );
}
