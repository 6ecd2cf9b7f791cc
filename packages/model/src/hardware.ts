// What is known of accelerator models when a node does not tell it: the link between the devices of one node, and the
// generation. NVIDIA generations are compute capabilities times ten (9.0 is 90), so that "at least 80" means Ampere or
// newer; AMD's are the first two digits of gfx (gfx942 is 94); TPU's are their version. A node's own word wins. Models that
// exist with and without a fast link are not said to have one; declare it on the node, or change the table in the policy.

export interface Hardware {
  readonly kind: string;
  readonly model: string;
  readonly interconnect: string | null;
  readonly generation: number | null;
}

const gpu = (model: string, generation: number, interconnect: string | null = null): Hardware => ({
  kind: 'gpu',
  model,
  interconnect,
  generation,
});
const tpu = (model: string, generation: number): Hardware => ({
  kind: 'tpu',
  model,
  interconnect: 'ici',
  generation,
});

export const defaultHardware: readonly Hardware[] = [
  gpu('GB300', 103, 'nvlink'),
  gpu('B300', 103, 'nvlink'),
  gpu('GB200', 100, 'nvlink'),
  gpu('B200', 100, 'nvlink'),
  gpu('B100', 100, 'nvlink'),
  gpu('GH200', 90, 'nvlink'),
  gpu('H200', 90, 'nvlink'),
  gpu('H100', 90),
  gpu('H800', 90),
  gpu('H20', 90, 'nvlink'),
  gpu('L40S', 89),
  gpu('L40', 89),
  gpu('L4', 89),
  gpu('RTX-6000-Ada', 89),
  gpu('RTX-5090', 120),
  gpu('RTX-4090', 89),
  gpu('RTX-3090', 86),
  gpu('A100', 80),
  gpu('A800', 80),
  gpu('A30', 80),
  gpu('A40', 86),
  gpu('A10', 86),
  gpu('A10G', 86),
  gpu('A16', 86),
  gpu('A2', 86),
  gpu('T4', 75),
  gpu('V100', 70),
  gpu('P100', 60),
  gpu('P4', 61),
  gpu('P40', 61),
  gpu('K80', 37),
  gpu('MI355X', 95, 'xgmi'),
  gpu('MI325X', 94, 'xgmi'),
  gpu('MI300X', 94, 'xgmi'),
  gpu('MI250X', 90, 'xgmi'),
  tpu('v4', 4),
  tpu('v5e', 5),
  tpu('v5p', 5),
  tpu('v6e', 6),
];
