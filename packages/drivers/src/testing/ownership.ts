// Who drivers are in tests: of one installation, unless a test plays two.
import { type Ownership, ownershipOf } from '../owner.ts';

export const testInstallation = '00000000-0000-4000-8000-000000000001';

export const testOwnership = (
  installation = testInstallation,
  cluster = 'alpha',
  runs: () => number = () => 0,
): Ownership =>
  ownershipOf({ installation, cluster, server: 'https://muster.test' }, () => [cluster], {
    claims: true,
    runs: async () => runs(),
  });
