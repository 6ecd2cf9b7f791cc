// `--devices gpu=8:H100:80GiB`: what the operator declares of a node, for machines without real accelerators (tests,
// laptops) and for kinds the agent cannot discover. Declaring a kind replaces what was discovered of that kind.
import { clip, isAcceleratorModel, isName, type Parsed, parseSizeMib } from '@muster/model';

export interface DeclaredDevices {
  readonly kind: string;
  readonly count: number;
  readonly model: string;
  readonly memoryMib: number;
}

const mostDevices = 4096;

export function parseDevices(text: string): Parsed<DeclaredDevices> {
  const match = /^([^=:]+)=(\d{1,6})(?::([^:]*))?(?::([^:]*))?$/.exec(text);
  if (!match) return bad(text, 'write kind=count:model:memory, for example "gpu=8:H100:80GiB" or "gpu=2"');
  const [, kind = '', countText = '', model = '', memory] = match;
  const count = Number(countText);
  if (!isName(kind)) return bad(text, `"${clip(kind)}" is not a kind of device, such as gpu or tpu`);
  if (count > mostDevices) return bad(text, `a node has at most ${mostDevices} devices`);
  if (model !== '' && !isAcceleratorModel(model))
    return bad(text, `"${clip(model)}" is not a model, such as H100`);
  if (memory === undefined)
    return { ok: true, value: { kind, count, model: model || 'generic', memoryMib: 0 } };
  const memoryMib = parseSizeMib(memory);
  if (!memoryMib.ok) return bad(text, memoryMib.message);
  return { ok: true, value: { kind, count, model: model || 'generic', memoryMib: memoryMib.value } };
}

function bad(text: string, why: string): Parsed<DeclaredDevices> {
  return { ok: false, message: `cannot read devices "${clip(text)}": ${why}` };
}
