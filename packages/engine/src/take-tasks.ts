// Puts tasks on a node that has room for them: devices are chosen, amounts taken and the ledger written, so that all of it can
// be given back (ledger.ts).
import { wholeDevice } from '@muster/model';
import { chooseDevices, choosePart } from './devices.ts';
import type { Fleet } from './fleet.ts';
import type { Placement } from './ledger.ts';
import type { ClassFit } from './match.ts';
import { takePort } from './ports.ts';
import type { Shape } from './shape.ts';

/**
 * So many tasks of a group, the first of its gang on this node or not. The node's position in the index of its class is given, and
 * returned as it is afterwards. `lowest`: which devices (devices.ts).
 */
export function takeTasks(
  fleet: Fleet,
  shape: Shape,
  placement: Placement,
  group: number,
  slot: number,
  fit: ClassFit,
  tasks: number,
  first: boolean,
  position: number,
  lowest = false,
): number {
  const { ledger } = fleet;
  if (first) fleet.enterRun(slot, shape.demand.exclusive);
  const pick = ledger.add(group, slot, fit, tasks, first);
  for (let i = 0, at = ledger.devicesAt[pick]!; i < tasks; i++, at += fit.count) {
    const { words, milli, stride } = fleet.taken;
    if (fit.milli < wholeDevice)
      ledger.devices[at] = choosePart(milli, slot * stride * 32, fit.devices, fit.mask, fit.milli, lowest);
    else if (fit.count > 0)
      chooseDevices(words, slot * stride, fit.devices, fit.mask, fit.count, ledger.devices, at, lowest);
    fleet.changeTask(1, slot, fit, ledger.devices, at, fit.count, fit.milli);
  }
  const now = fleet.end(slot, position);
  placement.to = ledger.size;
  if (group !== 0 || placement.port >= 0) return now;
  placement.portSlot = slot;
  placement.port = fleet.freePort(slot);
  takePort(fleet.ports[slot]!, placement.port);
  return now;
}
