// From the pods of a run to what is reported of its tasks. A run of which a pod is not bound was not wholly submitted: nothing of
// it is reported, and its commands are sent again. A pod's end is known when its kubelet said so, or when it was deleted before it
// was bound; a pod that was deleted while its node is not heard of is still there (its finalizer holds it), and so is its room.
import type { ErrorClass, TaskExit } from '@muster/model';
import type { ListedReport } from '../listing-driver.ts';
import { signalOf } from '../signal-names.ts';
import { notStarted, type OurPod } from './objects.ts';

/** All pods of one run. */
export function reportsOf(pods: readonly OurPod[]): ListedReport[] {
  const real = pods.filter(({ tombstone }) => !tombstone);
  if (real.some(({ node, deleting }) => node === null && !deleting)) return [];
  return real.map((pod) => {
    const { run, rank, node, meant } = pod;
    const began = beganOf(pod);
    const exit = exitOf(pod);
    const where = { run, rank, node: node ?? meant, began };
    if (exit) return { ...where, state: 'ended', exit };
    return { ...where, state: began ? 'running' : 'accepted', exit: null };
  });
}

function beganOf({ container }: OurPod): boolean {
  return container.is === 'running' || (container.is === 'terminated' && container.began);
}

/** Null while its end is not known. */
export function exitOf(pod: OurPod): TaskExit | null {
  const { phase, stop, deleting, node } = pod;
  // A pod that is being deleted is bound no more.
  const neverBound = deleting && node === null;
  if (phase !== 'Succeeded' && phase !== 'Failed' && !neverBound) return null;
  // A task that was told to end, and then ended well, has not done what it was started for. A kubelet that ends a pod by its deadline
  // calls it failed, so one that succeeded was over before the stop reached it; unless it was asked to save its work, and then ended.
  if (phase === 'Succeeded' && !pod.cutShort && !pod.disruption && pod.askedWaitS === null)
    return { ok: true };
  if (stop)
    return {
      ok: false,
      class: stop.class,
      ...endingOf(pod),
      reason: { code: stop.code, message: stop.reason },
    };
  const [errorClass, code, message] = whyOf(pod);
  return { ok: false, class: errorClass, ...endingOf(pod), reason: { code, message } };
}

type Why = readonly [ErrorClass, code: string, message: string];

function whyOf(pod: OurPod): Why {
  const { reason, message, disruption, cutShort, container } = pod;
  if (reason === 'DeadlineExceeded') return ['timeout', 'time-limit', 'time limit reached'];
  if (disruption) {
    const why = `Kubernetes ended the pod (${disruption.reason}): ${disruption.message}`;
    return disruption.reason === 'PreemptionByScheduler'
      ? ['preemption', 'preempted-in-kubernetes', why]
      : ['infrastructure', 'disrupted', why];
  }
  // What the kubelet itself decided: it did not take the pod, or put it off its node.
  if (reason !== '') return ['infrastructure', kubeletCode(reason), `${reason}: ${message}`.slice(0, 500)];
  if (cutShort)
    return ['cancelled', 'deleted-in-kubernetes', 'its pod was deleted in Kubernetes, not through Muster'];
  if (container.is !== 'terminated')
    return ['infrastructure', 'no-container', 'the pod failed without a container'];
  return containerWhy(container);
}

function kubeletCode(reason: string): string {
  return reason === 'Evicted' ? 'evicted' : 'node-refused';
}

/** The runtime's and the kubelet's words for a container that was gone when they came back; the exit code is made up. */
const lostContainer: ReadonlySet<string> = new Set(['Unknown', 'ContainerStatusUnknown']);

function containerWhy({
  reason,
  message,
  exitCode,
}: Extract<OurPod['container'], { is: 'terminated' }>): Why {
  if (reason === 'OOMKilled') return ['out-of-memory', 'out-of-memory', 'ran out of memory'];
  if (lostContainer.has(reason))
    return ['infrastructure', 'container-lost', 'the node lost the container: how it ended is not known'];
  if (notStarted.has(reason))
    return ['user', 'not-started', `could not be started: ${message}`.slice(0, 500)];
  const signal = signalOf(exitCode);
  return signal === null
    ? ['user', 'exit-code', `exited with code ${exitCode}`]
    : ['user', 'signal', `killed by ${signal}`];
}

function endingOf({ container }: OurPod): { readonly code: number | null; readonly signal: string | null } {
  if (container.is !== 'terminated' || !container.began || lostContainer.has(container.reason))
    return { code: null, signal: null };
  const signal = signalOf(container.exitCode);
  return { code: signal === null ? container.exitCode : null, signal };
}
