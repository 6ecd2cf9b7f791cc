// Equal for equal states, however they came about: a sum of the hashes of jobs, nodes and runs, which no slot number and no
// history can enter. What a node's runs take is hashed beside the runs themselves, so that a slip in the sums shows.
import {
  canonicalJson,
  entryHead,
  type LiveRun,
  type NodeFacts,
  type Places,
  type Uses,
} from '@muster/model';
import type { Entry } from './entry.ts';
import type { Fleet } from './fleet.ts';
import { Hasher, SetHasher } from './hash.ts';
import { placed, spent } from './jobs.ts';
import type { State } from './state.ts';

export function stateHash(state: State): string {
  const hasher = new Hasher().number(state.sequence).number(state.policyVersion);
  hasher.text(canonicalJson(state.policy));
  hashJobs(state).into(hasher);
  hashNodes(state.fleets.live).into(hasher);
  const runs = new SetHasher();
  for (const run of state.runs.values()) runs.add(hashRun(run));
  runs.into(hasher);
  hasher.text(canonicalJson(state.projects.usage()));
  return hasher.digest();
}

function hashRun(run: LiveRun): Hasher {
  const hasher = new Hasher().text(run.run).text(run.job).number(run.attempt);
  hasher
    .number(run.plannedMs)
    .optional(run.startedMs)
    .optional(run.checkpointMs)
    .number(run.stopping ? 1 : 0);
  hashPlaces(hasher, run);
  return hasher;
}

export function hashPlaces(hasher: Hasher, places: Places): void {
  hashUses(hasher, places.uses);
  hashTasks(hasher, places);
}

export function hashTasks(hasher: Hasher, { exclusive, port, tasks }: Omit<Places, 'uses'>): void {
  hasher
    .number(exclusive ? 1 : 0)
    .number(port)
    .number(tasks.length);
  for (let i = 0; i < tasks.length; i++) {
    const { rank, group, node, cpuMilli, memoryMib, devices, deviceMilli } = tasks[i]!;
    hasher.number(rank).number(group).text(node).number(cpuMilli).number(memoryMib).number(devices.length);
    hasher.number(deviceMilli);
    for (let d = 0; d < devices.length; d++) hasher.number(devices[d]!);
  }
}

/** Keys in the order of their texts, in which the engine makes them and a database need not keep them. */
export function hashUses(hasher: Hasher, uses: Uses): void {
  const keys = Object.keys(uses);
  for (let i = 1; i < keys.length; i++) if (keys[i]! < keys[i - 1]!) keys.sort();
  for (const key of keys) hasher.text(key).number(uses[key]!);
}

function hashJobs({ jobs, queue, claims }: State): SetHasher {
  const set = new SetHasher();
  // Many jobs share an entry, and its demand is the longest text by far.
  const entryHashes = new Map<Entry, string>();
  const entryHash = (entry: Entry): string => {
    let hash = entryHashes.get(entry);
    if (hash === undefined) {
      hash = new Hasher().text(entryHead(entry.facts)).text(entry.lane.shape.key).digest();
      entryHashes.set(entry, hash);
    }
    return hash;
  };
  for (const [id, job] of jobs.slots) {
    const hasher = new Hasher().text(id).number(jobs.version[job]!).number(jobs.state[job]!);
    hasher.text(entryHash(queue.entryOf(job)));
    hasher.number(jobs.attempt[job]!).number(jobs.submitted[job]!).number(jobs.notBeforeMs[job]!);
    // A placed job has no wait to remember.
    hasher
      .number(jobs.submittedMs[job]!)
      .number(jobs.state[job] === placed || jobs.state[job] === spent ? 0 : jobs.sinceMs[job]!);
    const { user, outOfMemory, infrastructure } = jobs.failures(job);
    hasher.number(user).number(outOfMemory).number(infrastructure);
    for (const node of jobs.avoid(job)) hasher.text(node);
    hasher.optional(jobs.failedMs(job));
    for (const { atMs, by } of jobs.preempted(job)) hasher.number(atMs).text(by);
    hasher.number(jobs.savedMs(job));
    hasher.text(jobs.heldBy(job) ?? '');
    const pool = jobs.pools.get(job);
    if (pool) {
      hasher.number(pool.size.count).optional(pool.size.parallel).number(pool.out).number(pool.again.size);
      for (const [first, last] of pool.waiting) hasher.number(first).number(last);
    }
    const claim = claims.byJob.get(id)?.claim;
    if (claim) {
      hashPlaces(hasher, claim);
      for (const { run, right } of claim.victims) hasher.text(run).text(right);
    }
    set.add(hasher);
  }
  return set;
}

function hashNodes(fleet: Fleet): SetHasher {
  const set = new SetHasher();
  for (const [id, slot] of fleet.slots) {
    const facts = fleet.facts[slot]!;
    if (facts.state === 'removed') continue;
    const hasher = new Hasher().text(id).text(nodeText(facts));
    hasher.number(fleet.usedCpu[slot]!).number(fleet.usedMemory[slot]!);
    hasher.number(fleet.freeCpu[slot]!).number(fleet.freeMemory[slot]!).number(fleet.freeDevices[slot]!);
    hasher.number(fleet.freeMilli[slot]!);
    hasher.number(fleet.runs[slot]!).number(fleet.exclusive[slot]!);
    hasher.number(fleet.claimed[slot]!).number(fleet.claimedAlone[slot]!);
    for (let index = 0; index < fleet.taken.stride * 32; index++) {
      const taken = fleet.taken.taken(slot, index);
      if (taken !== 0) hasher.number(index).number(taken);
    }
    for (const port of fleet.ports[slot]!) hasher.number(port);
    set.add(hasher);
  }
  return set;
}

/** What the engine reads of a node, and nothing else: an address or a device's own id changes no decision. */
function nodeText(facts: NodeFacts): string {
  const { name, cluster, pool, generation, state, drain, inventory, trustMilli = 1000 } = facts;
  const { cpuMilli, memoryMib, labels, ports } = inventory;
  const devices = inventory.devices.map(
    ({ index, kind, model, memoryMib: mib, interconnect = null, generation: made = null }) => [
      index,
      kind,
      model,
      mib,
      interconnect,
      made,
    ],
  );
  const capabilities = [...inventory.capabilities].sort();
  return canonicalJson([
    [name, cluster, pool, generation, state, drain?.quarantine ? 'quarantined' : drain !== null, trustMilli],
    [cpuMilli, memoryMib, labels, ports, devices, capabilities],
  ]);
}
