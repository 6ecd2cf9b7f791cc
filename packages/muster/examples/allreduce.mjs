// A gang that proves it can meet: every rank brings a vector of gradients, rank 0 adds them up and sends the sum back (an
// all-reduce, over plain sockets), a few steps in a row. It reads the variables torchrun uses, so a real training script finds
// the same ones. Any Node runs it.
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import { createInterface } from 'node:readline';

const rank = Number(process.env.RANK);
const worldSize = Number(process.env.WORLD_SIZE);
const address = process.env.MASTER_ADDR;
const port = Number(process.env.MASTER_PORT);
const steps = 5;
const length = 1000;

const say = (text) => console.log(`rank ${rank}: ${text}`);
const gradients = (step) => Array.from({ length }, (_, i) => (rank + 1) * step + i);
/** What the sum over all ranks must be; every rank checks it for itself. */
const expected = (step, i) => ((worldSize * (worldSize + 1)) / 2) * step + worldSize * i;

say(
  `on ${process.env.MUSTER_NODE_NAME} with GPUs ${process.env.MUSTER_DEVICES}, meets the others at ${address}:${port}`,
);
const allReduce = rank === 0 ? await lead() : await join();
for (let step = 1; step <= steps; step++) {
  const sum = await allReduce(gradients(step));
  if (sum.some((value, i) => value !== expected(step, i))) throw new Error(`step ${step}: the sum is wrong`);
  if (rank === 0) say(`step ${step}: ${worldSize} x ${length} gradients added up, the sum is right`);
}
say(`done, ${steps} sums checked`);
process.exit(0);

/** Rank 0 takes a line from everybody and answers all with the sum. */
async function lead() {
  const server = createServer().listen(port, '0.0.0.0');
  const peers = [];
  while (peers.length < worldSize - 1) {
    const [socket] = await once(server, 'connection');
    peers.push({ socket, lines: createInterface({ input: socket })[Symbol.asyncIterator]() });
  }
  return async (own) => {
    const others = await Promise.all(peers.map(async ({ lines }) => JSON.parse((await lines.next()).value)));
    const sum = own.map((value, i) => others.reduce((total, other) => total + other[i], value));
    for (const { socket } of peers) socket.write(`${JSON.stringify(sum)}\n`);
    return sum;
  };
}

/** The others may be there before rank 0 listens. */
async function join() {
  for (const deadline = Date.now() + 30_000; ; ) {
    const socket = createConnection(port, address);
    try {
      await once(socket, 'connect');
      const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
      return async (own) => {
        socket.write(`${JSON.stringify(own)}\n`);
        return JSON.parse((await lines.next()).value);
      };
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((wake) => setTimeout(wake, 50));
    }
  }
}
