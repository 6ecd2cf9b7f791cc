// `--devices gpu=8:H100:80GiB:nvlink:90`: what the operator declares of a node, for machines without real accelerators (tests,
// laptops) and for kinds the agent cannot discover. Declaring a kind replaces what was discovered of that kind.
import { clip, isAcceleratorModel, isName, maxNodeDevices, type Parsed, parseSizeMib } from '@muster/model';

export interface DeclaredDevices {
  readonly kind: string;
  readonly count: number;
  readonly model: string;
  readonly memoryMib: number;
  /** Left out where the policy's hardware table is to say it. */
  readonly interconnect?: string;
  readonly generation?: number;
}

const form =
  'write kind=count:model:memory:interconnect:generation, for example "gpu=8:H100:80GiB:nvlink:90", "gpu=8:H100" or "gpu=2"';

export function parseDevices(text: string): Parsed<DeclaredDevices> {
  const match = /^([^=:]+)=(\d{1,6})(?::([^:]*))?(?::([^:]*))?(?::([^:]*))?(?::([^:]*))?$/.exec(text);
  if (!match) return bad(text, form);
  const [, kind = '', countText = '', model = '', memory = '', interconnect = '', generation = ''] = match;
  const count = Number(countText);
  if (!isName(kind)) return bad(text, `"${clip(kind)}" is not a kind of device, such as gpu or tpu`);
  if (count > maxNodeDevices) return bad(text, `a node has at most ${maxNodeDevices} devices`);
  if (model !== '' && !isAcceleratorModel(model))
    return bad(text, `"${clip(model)}" is not a model, such as H100`);
  const memoryMib = memory === '' ? { ok: true as const, value: 0 } : parseSizeMib(memory);
  if (!memoryMib.ok) return bad(text, memoryMib.message);
  if (interconnect !== '' && !isName(interconnect))
    return bad(text, `"${clip(interconnect)}" is not an interconnect, such as nvlink`);
  if (generation !== '' && !(/^\d{1,4}$/.test(generation) && Number(generation) <= 1000))
    return bad(text, `"${clip(generation)}" is not a generation, a whole number from 0 to 1000 such as 90`);
  const value = { kind, count, model: model || 'generic', memoryMib: memoryMib.value };
  return {
    ok: true,
    value: {
      ...value,
      ...(interconnect === '' ? {} : { interconnect }),
      ...(generation === '' ? {} : { generation: Number(generation) }),
    },
  };
}

function bad(text: string, why: string): Parsed<DeclaredDevices> {
  return { ok: false, message: `cannot read devices "${clip(text)}": ${why}` };
}
