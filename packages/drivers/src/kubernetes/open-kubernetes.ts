// A Kubernetes cluster as its configuration says, for the control plane. It is opened by the first look: a kubeconfig that cannot be
// read is then what the cluster's operator is told, and the other clusters go on.
import type { KubernetesConfig } from '@muster/model';
import type { CommandAnswer } from '../contract.ts';
import type { ListedNode, Listing, ListingContext, ListingDriver } from '../listing-driver.ts';
import { createKubeClient } from './client.ts';
import { closedOf, inventoryOf } from './inventory.ts';
import { readKubeconfig } from './kubeconfig.ts';
import { createKubernetesDriver, type KubernetesSight, kubernetesCapabilities } from './kubernetes-driver.ts';
import type { SeenNode } from './node-book.ts';
import type { PodSettings } from './pod.ts';

const unknown: CommandAnswer = { outcome: 'unknown' };

export function openKubernetes(
  config: KubernetesConfig,
  { nodeName, onNews, ownership }: ListingContext,
): ListingDriver {
  const pods: PodSettings = {
    namespace: config.namespace,
    defaultImage: config.image ?? null,
    imagePullPolicy: config.imagePullPolicy,
    imagePullSecrets: config.imagePullSecrets,
    runtimeClassName: config.runtimeClass ?? null,
    tolerations: config.tolerations,
    checkpoints: config.checkpoints ?? null,
  };
  const listingOf = listings(config);
  let opened: { readonly driver: ReturnType<typeof createKubernetesDriver>; close(): Promise<void> } | null =
    null;

  function open(): typeof opened & {} {
    if (opened) return opened;
    const client = createKubeClient(readKubeconfig(config.kubeconfig, config.context));
    const driver = createKubernetesDriver({ client, pods, ownership, nodeName, ...(onNews && { onNews }) });
    const close = async (): Promise<void> => {
      await driver.close();
      client.close();
    };
    opened = { driver, close };
    return opened;
  }

  return {
    capabilities: kubernetesCapabilities,
    submit: async (target, command) => opened?.driver.submit(target, command) ?? unknown,
    stop: async (target, command) => opened?.driver.stop(target, command) ?? unknown,
    find: async (node, run) => opened?.driver.find(node, run) ?? null,
    output: async (request) => open().driver.output(request),
    look: async () => listingOf(await open().driver.look()),
    catchUp: (nodes) => open().driver.catchUp(nodes),
    forget: async (run) => opened?.driver.forget(run),
    close: async () => opened?.close(),
  };
}

/** Gives the same object for a node while it and what others hold of it are the same. */
function listings({ ports, tolerations }: KubernetesConfig): (sight: KubernetesSight) => Listing {
  const made = new WeakMap<SeenNode, ListedNode>();

  function listed(seen: SeenNode): ListedNode {
    const before = made.get(seen);
    if (before) return before;
    const { node, taken } = seen;
    const inventory = inventoryOf(node, { ports, taken });
    const now = { name: node.name, inventory, closed: closedOf(node, tolerations) };
    made.set(seen, now);
    return now;
  }

  return ({ boot, nodes, reports }) => ({
    boot,
    // The API server lists everything that was ever told to a node and is not proven over.
    settled: true,
    nodes: [...nodes.values()].map(listed),
    reports,
  });
}
