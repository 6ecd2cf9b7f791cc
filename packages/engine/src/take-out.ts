// Runs taken out of the fleet to see what would be if they were gone, and put back. Nothing else of the state changes.
import { releasePort, takePort } from './ports.ts';
import type { State } from './state.ts';

/** The part of a run on one node goes (-1) or comes back (1); the index is not told, so the caller puts all back. */
export function changeOnNode(state: State, run: number, slot: number, sign: 1 | -1): void {
  const fleet = state.fleets.live;
  const live = state.table.live[run]!;
  const { node } = fleet.facts[slot]!;
  // Tasks are in rank order, and the port is on the node of the first.
  if (live.tasks[0]!.node === node) {
    if (sign === 1) takePort(fleet.ports[slot]!, live.port);
    else releasePort(fleet.ports[slot]!, live.port);
  }
  for (const task of live.tasks) {
    if (task.node !== node) continue;
    fleet.changeTask(sign, slot, task, task.devices, 0, task.devices.length, task.deviceMilli);
  }
  if (sign === 1) fleet.enterRun(slot, live.exclusive);
  else {
    // Not told as a change of the node: it comes back.
    fleet.runs[slot]!--;
    if (fleet.runs[slot] === 0) fleet.exclusive[slot] = 0;
  }
}

/** The whole run counts as gone. */
export function takeOut(state: State, run: number): void {
  changeEverywhere(state, run, -1);
  state.table.gone[run] = 1;
}

export function putBack(state: State, run: number): void {
  state.table.gone[run] = 0;
  changeEverywhere(state, run, 1);
}

function changeEverywhere(state: State, run: number, sign: 1 | -1): void {
  const { table, fleets } = state;
  for (let link = table.firstLink[run]!; link >= 0; link = table.linkOfRun[link]!) {
    const slot = table.linkNode[link]!;
    const position = fleets.live.begin(slot);
    changeOnNode(state, run, slot, sign);
    fleets.live.end(slot, position);
  }
}
