// A machine of the fleet: a supervisor with its tasks, an agent, a disk. It can lose its power, freeze as a whole, or lose only
// its agent or its supervisor.
import type { Inventory, NodeId } from '@muster/model';
import { Agent, type AgentDeps } from './agent.ts';
import type { Ground } from './ground.ts';
import { VirtualProcess } from './process.ts';
import type { Programs } from './programs.ts';
import type { Scheduler } from './scheduler.ts';
import { type Journal, Supervisor } from './supervisor.ts';

export interface MachineDeps {
  readonly scheduler: Scheduler;
  readonly ground: Ground;
  readonly programs: Programs;
  readonly node: NodeId;
  readonly name: string;
  readonly cluster: string;
  readonly inventory: Inventory;
  /** How fast its clock goes. */
  readonly rate: number;
  readonly sign: AgentDeps['sign'];
  readonly dial: (machine: Machine, ...rest: Parameters<AgentDeps['dial']>) => void;
}

export class Machine {
  readonly deps: MachineDeps;
  readonly #epoch = { highest: 0 };
  #boots = 0;
  #kernel: VirtualProcess;
  #agentProcess: VirtualProcess;
  #supervisor: Supervisor;
  #agent: Agent | null = null;
  #journal: Journal | null = null;
  #inventory: Inventory;
  #removed = false;

  constructor(deps: MachineDeps) {
    this.deps = deps;
    this.#inventory = deps.inventory;
    this.#kernel = this.#newProcess();
    this.#agentProcess = this.#newProcess();
    this.#agentProcess.kill();
    this.#supervisor = this.#newSupervisor();
  }

  get node(): NodeId {
    return this.deps.node;
  }

  get on(): boolean {
    return this.#kernel.alive;
  }

  get frozen(): boolean {
    return this.#kernel.alive && !this.#kernel.running;
  }

  get agentProcess(): VirtualProcess {
    return this.#agentProcess;
  }

  /** Tasks that it still has to tell the end of, or, when its node is no longer one, that still run. */
  get holds(): number {
    const reports = this.#supervisor.reports();
    return this.#removed ? reports.filter(({ state }) => state !== 'ended').length : reports.length;
  }

  /** So many of its devices are found at the next start of its agent; they are numbered from the first. */
  findDevices(count: number): void {
    this.#inventory = { ...this.deps.inventory, devices: this.deps.inventory.devices.slice(0, count) };
  }

  startAgent(): void {
    if (!this.on || this.#agentProcess.alive || this.#removed) return;
    const process = this.#newProcess();
    if (this.frozen) process.pause();
    this.#agentProcess = process;
    const { node, sign, dial } = this.deps;
    this.#agent = new Agent(
      {
        process,
        nowMs: () => this.#kernel.clock.monotonicMs(),
        node,
        inventory: this.#inventory,
        bootId: `${this.deps.name}-boot-${this.#boots}`,
        supervisor: this.#supervisor,
        epoch: this.#epoch,
        sign,
        dial: (turn, dialled) => dial(this, turn, dialled),
        removed: () => this.#leave(),
      },
      this.#boots,
    );
  }

  /** Its node was removed: what still runs is stopped, because the server has given it up. */
  #leave(): void {
    this.#removed = true;
    for (const run of this.#supervisor.liveRuns()) this.#supervisor.forbid(run);
    this.killAgent();
  }

  killAgent(): void {
    this.#agentProcess.kill();
    this.#agent = null;
  }

  pauseAgent(): void {
    this.#agentProcess.pause();
  }

  resumeAgent(): void {
    if (!this.frozen) this.#agentProcess.resume();
  }

  freeze(): void {
    this.#kernel.pause();
    this.#agentProcess.pause();
  }

  /** What was due meanwhile is done first: a run whose deadline has passed dies before its agent says a word. */
  thaw(): void {
    this.#kernel.resume();
    this.deps.scheduler.after(0, () => {
      if (!this.frozen) this.#agentProcess.resume();
    });
  }

  powerOff(): void {
    if (!this.on) return;
    this.#journal = this.#supervisor.journal();
    this.killAgent();
    this.#supervisor.perish();
    this.#kernel.kill();
  }

  powerOn(): void {
    if (this.on) return;
    this.#boots++;
    this.#kernel = this.#newProcess();
    this.#supervisor = this.#newSupervisor();
    this.startAgent();
  }

  /** Its tasks lose their keeper and are cleared away by the next one, which the agent starts. */
  killSupervisor(): void {
    if (!this.on || this.frozen) return;
    const agentLived = this.#agentProcess.alive;
    this.killAgent();
    this.#journal = this.#supervisor.journal();
    this.#supervisor.perish();
    this.#supervisor.abandon();
    this.#supervisor = this.#newSupervisor();
    if (agentLived) this.startAgent();
  }

  bye(): void {
    this.#agent?.bye();
  }

  resetConnection(): void {
    this.#agent?.reset();
  }

  #newProcess(): VirtualProcess {
    return new VirtualProcess(this.deps.scheduler, this.deps.rate);
  }

  #newSupervisor(): Supervisor {
    const { ground, programs, node } = this.deps;
    return new Supervisor(
      {
        process: this.#kernel,
        ground,
        programs,
        node,
        news: (item) => this.#agent?.news(item),
      },
      this.#journal,
    );
  }
}
