// An agent in a process of its own, for tests that kill or freeze it: `node agent-main.ts <options as JSON>`.
import { runAgent } from '../agent.ts';
import type { AgentOptions, Logger } from '../options.ts';

const say = (detail: object, message: string): void => console.log(message, JSON.stringify(detail));
const log: Logger = { debug: () => {}, info: say, warn: say, error: say };
const options = JSON.parse(process.argv[2] ?? '{}') as AgentOptions;
const agent = await runAgent({ ...options, log });
process.once('SIGTERM', () => void agent.stop());
await agent.done;
