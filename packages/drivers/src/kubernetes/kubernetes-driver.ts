// The Kubernetes driver. A task is one pod whose name follows from the run's key and the task's rank, so the API server refuses a
// second one; pods are bound to the nodes that the plan chose once all of the run exist (submission.ts). Everything is seen by
// watches, and read from the API server itself where a decision hangs on it.
import { type NodeId, OperationalError, type RunId, type StopCommand, type TaskReport } from '@muster/model';
import * as z from 'zod';
import type { CommandAnswer, Driver, DriverCapabilities, OutputAnswer, OutputRequest } from '../contract.ts';
import { fewAtOnce } from '../few-at-once.ts';
import { Gathering, type Part } from '../gathering.ts';
import type { ListedReport, ReportsByNode } from '../listing-driver.ts';
import type { Ownership } from '../owner.ts';
import { ApiError, type KubeClient } from './client.ts';
import { epochsIn } from './epochs.ts';
import { deviceResources } from './inventory.ts';
import { NodeBook, type SeenNode } from './node-book.ts';
import {
  type KubeNode,
  marks,
  type OtherPod,
  type OurPod,
  readNode,
  readOtherPod,
  readOurPod,
  type StopFacts,
} from './objects.ts';
import { graceSecondsOf, type PlacedTask, type PodSettings, podName, tombstoneOf } from './pod.ts';
import { PodBook } from './pod-book.ts';
import { podsOf } from './pods.ts';
import { refreshNode } from './refresh-node.ts';
import { exitOf, reportsOf } from './reports.ts';
import { each, submitRun } from './submission.ts';
import { taskLogs } from './task-log.ts';
import { Upkeep } from './upkeep.ts';
import { Vanished } from './vanished.ts';
import { watch } from './watched.ts';

export interface KubernetesDeps {
  readonly client: KubeClient;
  readonly pods: PodSettings;
  readonly ownership: Ownership;
  /** Kubernetes' name of a node; null when it is none of this cluster. */
  readonly nodeName: (node: NodeId) => string | null;
  /** How long the commands of a run on several nodes may come one after another. */
  readonly gatherMs?: number;
  /** For how long the pods of an ended run are kept, so that its output can be read. */
  readonly keepMs?: number;
  /** Something was seen that a look would tell. */
  readonly onNews?: () => void;
}

export interface KubernetesSight {
  /** The uid of our namespace: another one is another cluster. */
  readonly boot: string;
  /** By name. */
  readonly nodes: ReadonlyMap<string, SeenNode>;
  readonly reports: ReportsByNode;
}

export interface KubernetesDriver extends Driver {
  /** Everything there is to see; `fresh`: nothing that was answered before this call is missing. Rejects when it is not known. */
  look(fresh?: boolean): Promise<KubernetesSight>;
  /** From here on no look misses what was answered of these nodes before this call. */
  catchUp(nodes: readonly string[]): Promise<void>;
  /** The end of all its tasks is committed: it is told no more. */
  forget(run: RunId): Promise<void>;
  close(): Promise<void>;
}

export const kubernetesCapabilities: DriverCapabilities = {
  has: ['containers', 'signals', 'unlike-groups', 'uneven-nodes', 'ask-checkpoint'],
  assigns: 'count',
};

const namespaceObject = z.object({ metadata: z.object({ uid: z.string() }) });
const lease = z.object({ spec: z.object({ renewTime: z.string() }) });
const outputLookMs = 200;
const tendEveryMs = 2000;
/** A watch whose other end hangs tells nothing, as one does when there is no news; so something is asked now and then. */
const askEveryMs = 10_000;
/** So many are listed one by one, while the watches go on; a list of all is long, and nothing is followed meanwhile. */
const fewNodes = 256;
/** So that a run's pods are bound soon after they are made, and not when all other runs have theirs. */
const runsAtOnce = 64;

export function createKubernetesDriver(deps: KubernetesDeps): KubernetesDriver {
  const { client, nodeName } = deps;
  const { namespace } = deps.pods;
  const { installation } = deps.ownership.owner;
  const pods = podsOf(client, namespace, installation);
  const epochs = epochsIn(client, namespace, deps.ownership);
  const logs = taskLogs(client);
  const upkeep = new Upkeep(pods, deps.keepMs ?? 3_600_000);
  const vanished = new Vanished({
    renewal,
    // Where that is not known it may be there.
    restore: (pod) => pods.restore(pod).catch(() => true),
    isForgotten: ({ run }) => upkeep.isForgotten(run),
    nowMs: () => performance.now(),
  });
  const book = new PodBook((run) => upkeep.isForgotten(run));
  const machines = new NodeBook();
  const own = watch(client, {
    path: `/api/v1/namespaces/${namespace}/pods`,
    query: { labelSelector: `${marks.run},${marks.installation}=${installation}` },
    read: readOurPod,
    onChange: changeOwn,
  });
  const holding = 'status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=';
  const countOther = {
    read: readOtherPod,
    onChange: (before: OtherPod | null, after: OtherPod | null) => machines.changeOther(before, after),
  };
  const neighbours = watch(client, {
    path: `/api/v1/namespaces/${namespace}/pods`,
    query: { labelSelector: `${marks.installation}!=${installation}`, fieldSelector: holding },
    ...countOther,
  });
  // Those of a Muster too, and of another cluster of ours: neither is told of here.
  const others = watch(client, {
    path: '/api/v1/pods',
    query: { fieldSelector: `metadata.namespace!=${namespace},${holding}` },
    ...countOther,
  });
  const nodes = watch(client, {
    path: '/api/v1/nodes',
    read: readNode,
    onChange: (before, after) => {
      machines.changeNode(before, after);
      deps.onNews?.();
    },
  });
  const gathering = new Gathering(deps.gatherMs ?? 10_000, send);
  const few = fewAtOnce(runsAtOnce);
  let boot: string | null = null;
  let askAtMs = 0;
  let tendAtMs = 0;
  let tending = false;

  function changeOwn(before: OurPod | null, after: OurPod | null): void {
    book.change(before, after);
    upkeep.change(before, after);
    if (after !== null) vanished.listed(after);
    else if (before !== null) vanished.gone(before);
    deps.onNews?.();
  }

  /**
   * What was asked of a pod is seen a moment later: asking again at once would be in vain. Beside the look, which nodes are renewed
   * by: a webhook that answers slowly would keep it for minutes.
   */
  function tendNowAndThen(): void {
    if (tending || performance.now() < tendAtMs) return;
    tendAtMs = performance.now() + tendEveryMs;
    tending = true;
    void upkeep
      .tend((run) => book.of(run))
      .finally(() => {
        tending = false;
      });
  }

  async function renewal(node: string): Promise<string | null> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`;
    try {
      return lease.parse(await client.call('GET', path)).spec.renewTime;
    } catch {
      return null;
    }
  }

  async function send(parts: readonly Part[]): Promise<CommandAnswer> {
    return answered(async () => {
      const [first] = parts;
      if (!first) return { outcome: 'refused', detail: 'the run has no tasks' };
      await nodes.all();
      const tasks: PlacedTask[] = [];
      for (const { node, command } of parts) {
        const found = machines.get(nodeName(node) ?? '');
        if (!found) return { outcome: 'refused', detail: 'Kubernetes has no such node' };
        for (const task of command.tasks)
          tasks.push({ task, node: found.name, devices: devicesOf(task.devices, found) });
      }
      if (first.command.image === null && deps.pods.defaultImage === null)
        return { outcome: 'refused', detail: 'the job names no image, and the cluster has no default image' };
      return few(() => submitRun(client, pods, deps.pods, installation, { command: first.command, tasks }));
    });
  }

  async function podsNow(run: RunId): Promise<OurPod[]> {
    await own.all();
    return pods.of(run, book.of(run).length > 0);
  }

  async function stop({ run, class: errorClass, reason, graceMs, ask }: StopCommand): Promise<CommandAnswer> {
    const facts: StopFacts = { class: errorClass, code: 'stopped', reason };
    for (;;) {
      const held = await podsNow(run);
      // Nothing is there, so the name is taken before a start can have it.
      if (held.length === 0) {
        if (await pods.create(tombstoneOf(run, JSON.stringify(facts), namespace, installation)))
          return { outcome: 'accepted' };
        // Throws where somebody took our marks off the pod that has the name: nothing is known until it has them back.
        await pods.get(run, 0);
        continue;
      }
      const live = held.filter((pod) => !pod.tombstone && exitOf(pod) === null);
      await each(live, (pod) => pods.stop(pod, facts, graceSecondsOf(graceMs), ask));
      return { outcome: 'accepted' };
    }
  }

  async function find(node: NodeId, run: RunId): Promise<readonly TaskReport[]> {
    const name = nodeName(node);
    const told = [...reportsOf(await podsNow(run)), ...reportsOf(vanished.ghostsOf(run))];
    return told.filter((report) => report.node === name).map(withoutNode);
  }

  async function output({ run, rank, offset, maxBytes, waitMs }: OutputRequest): Promise<OutputAnswer> {
    const deadline = performance.now() + waitMs;
    const path = `/api/v1/namespaces/${namespace}/pods/${podName(run, rank)}/log`;
    for (;;) {
      const pod = await pods.get(run, rank);
      // Its pod is kept for a while only; a tombstone never wrote anything.
      if (!pod || pod.tombstone) return { offset, data: new Uint8Array(), size: offset, end: true };
      const over = exitOf(pod) !== null;
      if (pod.container.is === 'running' || pod.container.is === 'terminated')
        return logs.read({ path, over, offset, maxBytes, waitMs: Math.max(0, deadline - performance.now()) });
      if (over || performance.now() >= deadline)
        return { offset, data: new Uint8Array(), size: offset, end: over };
      await new Promise((resolve) => setTimeout(resolve, outputLookMs));
    }
  }

  async function catchUp(names: readonly string[]): Promise<void> {
    if (names.length > fewNodes)
      await Promise.all([own.refresh(), neighbours.refresh(), others.refresh(), nodes.refresh()]);
    else await each(names, (name) => refreshNode(own, name, (run) => book.of(run)));
    // The next look also asks whether it is the same cluster.
    askAtMs = 0;
  }

  async function look(fresh = false): Promise<KubernetesSight> {
    const all = <T>(watched: { all(): Promise<T>; refresh(): Promise<T> }): Promise<T> =>
      fresh ? watched.refresh() : watched.all();
    if (fresh || boot === null || performance.now() >= askAtMs) {
      boot = namespaceObject.parse(await client.call('GET', `/api/v1/namespaces/${namespace}`)).metadata.uid;
      askAtMs = performance.now() + askEveryMs;
    }
    await epochs.checkOwner();
    await Promise.all([all(own), all(neighbours), all(others), all(nodes)]);
    const missing = await vanished.missing((name) => machines.get(name) !== undefined);
    tendNowAndThen();
    return { boot, nodes: machines.all(), reports: withMissing(book.reports(), missing) };
  }

  return {
    capabilities: kubernetesCapabilities,
    submit: (target, command) =>
      answered(async () => {
        if (!(await epochs.admit(target.epoch))) return { outcome: 'stale-epoch' };
        return gathering.add({ node: target.node, command });
      }),
    stop: (target, command) =>
      answered(async () => {
        if (!(await epochs.admit(target.epoch))) return { outcome: 'stale-epoch' };
        return stop(command);
      }),
    find: (node, run) => find(node, run).catch(() => null),
    output: (request) =>
      output(request).catch((error: unknown) => {
        const message = `the output of ${request.run} on ${request.node} cannot be read from Kubernetes now`;
        throw new OperationalError('node-unreachable', message, { cause: error });
      }),
    look,
    catchUp,
    async forget(run) {
      upkeep.forget(run);
      book.touch(run);
    },
    async close() {
      for (const one of [own, neighbours, others, nodes, epochs, logs]) one.close();
    },
  };
}

function withMissing(reports: ReportsByNode, missing: readonly ListedReport[]): ReportsByNode {
  if (missing.length === 0) return reports;
  const all = new Map(reports);
  for (const report of missing) all.set(report.node, [...(all.get(report.node) ?? []), report]);
  return all;
}

/** The plan names devices by index; Kubernetes is told how many of which resource, and its kubelet chooses. */
function devicesOf(indices: readonly number[], node: KubeNode): Record<string, number> {
  const resources = deviceResources(node);
  const counts: Record<string, number> = {};
  for (const index of indices) {
    const name = resources[index];
    if (name === undefined) throw new RangeError(`no device ${index} on ${node.name}`);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function withoutNode({ run, rank, state, exit }: TaskReport): TaskReport {
  return { run, rank, state, exit };
}

async function answered(ask: () => Promise<CommandAnswer>): Promise<CommandAnswer> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ApiError && error.refused)
      return { outcome: 'refused', detail: error.message.slice(0, 500) };
    return { outcome: 'unknown' };
  }
}
