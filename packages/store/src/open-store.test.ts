import { setTimeout as sleep } from 'node:timers/promises';
import { contractSuite } from './testing/contract-suite.ts';
import { onEveryServer } from './testing/on-every-server.ts';

onEveryServer((server) => {
  contractSuite({ store: () => server().emptied(), pass: (ms) => sleep(ms) });
});
