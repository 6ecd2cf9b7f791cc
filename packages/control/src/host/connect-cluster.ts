// From a cluster's configuration to its driver: one case a kind.
import type { ListingContext, ListingDriver } from '@muster/drivers';
import { openKubernetes } from '@muster/drivers/kubernetes';
import { openSlurm } from '@muster/drivers/slurm';
import type { DrivenConfig } from '../clusters.ts';

export function connectCluster(config: DrivenConfig, context: ListingContext): ListingDriver {
  switch (config.kind) {
    case 'slurm':
      return openSlurm(config, context);
    case 'kubernetes':
      return openKubernetes(config, context);
  }
}
