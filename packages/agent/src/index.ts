export { type AgentEnd, type AgentHandle, runAgent } from './agent.ts';
export { type DeclaredDevices, parseDevices } from './discover/parse-devices.ts';
export { type Enrolled, type EnrolOptions, enrolAgent } from './enrol.ts';
export { type Identity, readIdentity, tokenHash } from './identity.ts';
export {
  type AgentOptions,
  defaultKeepOutput,
  defaultPorts,
  type KeepOutput,
  type Logger,
} from './options.ts';
export { openStateDir } from './state-dir.ts';
export { agentVersion } from './version.ts';
