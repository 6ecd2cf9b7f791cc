// Pods that wait for something which will not come: an image that does not exist, a container that cannot be made. Kubernetes tries
// for ever; a run that cannot start must end, with the reason on its job, and the next attempt elsewhere where that may help.
import type { OurPod, StopFacts } from './objects.ts';

const never = new Set(['InvalidImageName', 'ErrImageNeverPull']);
const pulling = new Set(['ErrImagePull', 'ImagePullBackOff', 'RegistryUnavailable']);
const making = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']);
/** What registries say of an image that is not there or not for us. */
const denied = /not found|manifest unknown|does not exist|unauthorized|denied|forbidden|no such/i;
/** For what may pass by itself: a registry that does not answer, a device plugin that restarts. */
const patienceMs = 5 * 60_000;

/** Why it is given up, or null. `waitedMs`: for how long it has been seen to wait so. */
export function hopeless({ container, deleting }: OurPod, waitedMs: number): StopFacts | null {
  if (container.is !== 'waiting' || deleting) return null;
  const { reason, message } = container;
  const why = `${reason}: ${message}`.slice(0, 500);
  if (never.has(reason)) return { class: 'user', code: 'image', reason: why };
  if (pulling.has(reason)) {
    if (denied.test(message)) return { class: 'user', code: 'image', reason: why };
    return waitedMs > patienceMs ? { class: 'infrastructure', code: 'image-pull', reason: why } : null;
  }
  if (making.has(reason) && waitedMs > patienceMs)
    return { class: 'infrastructure', code: 'not-started', reason: why };
  return null;
}

/** Whether it waits for something that may not come, so that the time is to be counted. */
export function isStuck({ container }: OurPod): boolean {
  const reason = container.is === 'waiting' ? container.reason : '';
  return never.has(reason) || pulling.has(reason) || making.has(reason);
}
