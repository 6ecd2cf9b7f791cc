// How a machine becomes a node: an operator makes a one-time token, the machine's agent shows it together with the public key
// it will sign with from then on. The token authenticates the request, so there is no bearer; addresses are rate-limited.
import { createPublicKey } from 'node:crypto';
import { freshId, isName, nameRule, parseDurationMs } from '@muster/model';
import type { EnrolRefusal } from '@muster/store';
import * as z from 'zod';
import { unauthenticated } from './auth.ts';
import type { Api } from './deps.ts';
import { committed } from './outcome.ts';
import { fieldRefusal, refuse } from './problem.ts';
import { route } from './route.ts';
import { time } from './time-text.ts';
import { mintSecret, secretHash } from './token-text.ts';
import { enrolledSchema, enrolmentSchema } from './view-schemas.ts';

const tag = 'nodes';
const hourMs = 3_600_000;
const maxLifeMs = 30 * 24 * hourMs;
/** A rack that boots together comes from one address. */
const enrolLimit = { perSecond: 20, burst: 500 };

const nameText = z.string().refine(isName, `must be ${nameRule}`);

/** A duration in our grammar, up to a longest. */
export const lifeText = (maxMs: number, range: string) =>
  z.string().transform((text, context) => {
    const parsed = parseDurationMs(text);
    if (parsed.ok && parsed.value >= 1000 && parsed.value <= maxMs) return parsed.value;
    context.addIssue({
      code: 'custom',
      message: parsed.ok ? `is out of range; allowed is ${range}` : parsed.message,
    });
    return z.NEVER;
  });

const enrolmentBody = z.strictObject({
  cluster: nameText.default('default'),
  pool: nameText.default('default'),
  uses: z.int().min(1).max(100_000).default(1).meta({ description: 'how many nodes may enrol with it' }),
  expiresIn: lifeText(maxLifeMs, '1s to 30d').prefault('1h'),
});

const createEnrolment = route({
  id: 'createEnrolment',
  method: 'POST',
  path: '/v1/enrolments',
  tag,
  summary: 'Make a token with which nodes can enrol; it is shown once',
  access: 'operator',
  body: enrolmentBody,
  answers: { 201: enrolmentSchema },
  async handle(api, { caller, body, request }) {
    await checkCluster(api, body.cluster);
    const token = mintSecret('mse', api.random);
    const id = freshId('enrolment', api.clock.nowMs(), api.idRandom());
    const expiresMs = (await api.store.nowMs()) + body.expiresIn;
    request.target = `${id} ${body.cluster}/${body.pool}`;
    const hash = secretHash('mse', token) ?? '';
    const { cluster, pool, uses } = body;
    await api.store.createEnrolment({ id, hash, cluster, pool, by: caller.principal, expiresMs, uses });
    return { status: 201, body: { token, expiresAt: time(expiresMs) } };
  },
});

/** A cluster that a driver speaks for has no agents. */
async function checkCluster(api: Api, cluster: string): Promise<void> {
  const row = (await api.store.clusters()).find(({ name }) => name === cluster);
  if (!row || row.config.kind === 'agent') return;
  const message = `is a ${row.config.kind} cluster, whose nodes join by themselves; choose another`;
  throw fieldRefusal([{ code: 'invalid-field', path: '/cluster', message, value: cluster }]);
}

function isEd25519(text: string): boolean {
  try {
    const key = text.startsWith('-----')
      ? createPublicKey(text)
      : createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ed25519' && !text.includes('PRIVATE');
  } catch {
    return false;
  }
}

const enrolBody = z.strictObject({
  token: z.string().max(200),
  name: nameText,
  publicKey: z
    .string()
    .max(1000)
    .refine(isEd25519, 'must be an Ed25519 public key, as PEM or as base64 of its SPKI DER')
    .meta({ description: "the agent's Ed25519 public key, as PEM or as base64 of its SPKI DER" }),
});

const enrol = route({
  id: 'enrolNode',
  method: 'POST',
  path: '/v1/enrol',
  tag,
  summary: 'Enrol a machine with a one-time token',
  access: 'public',
  body: enrolBody,
  answers: { 201: enrolledSchema },
  async handle(api, { body, request }) {
    api.buckets.take(`enrol ${request.ip}`, enrolLimit);
    request.target = body.name;
    const hash = secretHash('mse', body.token);
    if (hash === null) throw badEnrolment();
    const node = freshId('node', api.clock.nowMs(), api.idRandom());
    const { value } = committed(
      await api.store.enrol({ hash, node, name: body.name, publicKey: body.publicKey }),
      (refusal) => enrolRefused(refusal, body.name),
      'enrol again with a new token',
    );
    request.target = `${value.node} ${body.name}`;
    return { status: 201, body: { node: value.node } };
  },
});

function enrolRefused(refusal: EnrolRefusal, name: string) {
  switch (refusal) {
    case 'bad-token':
      return badEnrolment();
    case 'name-in-use':
      return refuse('already-exists', `the name ${name} is taken by another node; choose another`);
    case 'has-work':
      return refuse(
        'conflict',
        `node ${name} still has work under its old key; wait until that has ended or its lease has run out, or declare the node lost (muster nodes lost ${name})`,
      );
  }
}

/** The same whether it never existed, was used up or ran out. */
function badEnrolment() {
  return refuse('unauthenticated', 'the enrolment token is not valid; ask the operator for a new one', {
    headers: unauthenticated().headers,
  });
}

export const enrolmentRoutes = [createEnrolment, enrol];
