// Whose the runs of a cluster are. Two Musters may be given one Slurm or one Kubernetes, and what one of them finds there and does not
// know is a leftover to it, which it stops. So what a driver makes bears its installation's mark, and the place in which it keeps its
// runs (a shared directory, a namespace) says whose it is: whoever finds another's name there touches nothing. Clusters of one
// installation are told apart too: a directory can be reached by two paths, and a namespace by two kubeconfigs.
import * as z from 'zod';

export const ownerSchema = z.object({
  /** Kept in the database from its first start on, so that it survives a move to another server. */
  installation: z.string(),
  /** The cluster's name in that installation. */
  cluster: z.string(),
  /** Where its server was when it took the place: for people. */
  server: z.string(),
});
export type Owner = z.infer<typeof ownerSchema>;

export interface Ownership {
  readonly owner: Owner;
  /** Whether a place of this owner is our cluster's own. */
  readonly isOwn: (found: Owner) => boolean;
  /** Whether a place that nobody has becomes ours; who only looks leaves it as it is. */
  readonly claims: boolean;
  /** Runs of the cluster that are not known to be over. They are in a place with our mark, so one without it is another. */
  readonly runs: () => Promise<number>;
}

/** `clusters`: those that the installation has now. What it kept under a name that it no longer has is its own to go on with. */
export function ownershipOf(
  owner: Owner,
  clusters: () => readonly string[],
  claims: Pick<Ownership, 'claims' | 'runs'>,
): Ownership {
  const isOwn = ({ installation, cluster }: Owner): boolean =>
    installation === owner.installation && (cluster === owner.cluster || !clusters().includes(cluster));
  return { owner, isOwn, ...claims };
}

/** Of who only looks. */
export const claimsNothing = { claims: false, runs: async () => 0 };

/**
 * A place without any mark, which nobody has, may be taken, but not for a cluster that has runs somewhere: a kubeconfig that points to
 * another API server, or a shared directory that is not mounted, would be taken for a cluster on which nothing runs any more.
 * `marking`: what says that it is the right one.
 */
export async function checkClaim(
  place: string,
  { owner, runs: count }: Ownership,
  marking: string,
): Promise<void> {
  const runs = await count();
  if (runs === 0) return;
  const [those, are] = runs === 1 ? ['a run', 'is'] : [`${runs} runs`, 'are'];
  throw new Error(
    `${place} bears no mark, and ${those} of cluster ${owner.cluster} ${are} not known to be over: it is not the place that they are in (another API server, a directory that is not mounted?), so nothing is done; if it is the right one, ${marking}, and if nothing of them runs anywhere, say so (muster clusters lost ${owner.cluster})`,
  );
}

/** `freeing`: what makes a place free for somebody else. */
export function othersPlace(place: string, found: Owner, { owner }: Ownership, freeing: string): Error {
  const whose =
    found.installation === owner.installation
      ? `cluster ${found.cluster}`
      : `another Muster: cluster ${found.cluster} of the server at ${found.server} (installation ${found.installation})`;
  return new Error(
    `${place} holds the runs of ${whose}, and the two would stop each other's; choose another one, or, once that cluster is removed there, ${freeing}`,
  );
}
