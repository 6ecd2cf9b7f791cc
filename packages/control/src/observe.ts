// What agents tell, committed. The hub hands every message here before it answers the agent, so an agent that got an
// answer knows that its news are durable.
import type { AgentSink } from '@muster/drivers/agent';
import { type NodeId, OperationalError, type ServerId, type Strike, strikeRule } from '@muster/model';
import type { NodeSession, Outcome, Store } from '@muster/store';
import type { World } from './world.ts';

export interface ObserveDeps {
  readonly world: World;
  readonly store: Pick<Store, 'nodeKey' | 'hello' | 'renew' | 'observe' | 'silence' | 'strike'>;
  readonly server: ServerId;
  readonly onReady: () => void;
}

/** A connection that drops may be a server change or a blip; only then is the node called silent. */
const reconnectWithinMs = 5000;

export function createAgentSink({ world, store, server, onReady }: ObserveDeps): AgentSink {
  const sessions = new Map<NodeId, string>();
  return {
    nodeKey: (node) => store.nodeKey(node),
    async hello(session, hello, replaces) {
      const { bootId, agentVersion, isolation, inventory, tasks } = hello;
      const answer = await store.hello({
        ...session,
        server,
        replaces,
        bootId,
        agentVersion,
        isolation,
        inventory,
        tasks,
      });
      if (answer.outcome === 'refused') return { refused: answer.refusal };
      return certain(answer);
    },
    async renew(session, keys) {
      const answer = await store.renew({ ...session, keys });
      return answer.outcome === 'refused' ? null : certain(answer);
    },
    async observe(session, items) {
      const answer = await store.observe(session, items);
      return answer.outcome === 'refused' ? null : certain(answer);
    },
    strike: (node, item) => void strike(node, item),
    ready({ node, session }) {
      sessions.set(node, session);
      onReady();
    },
    gone(session, goodbye) {
      if (sessions.get(session.node) === session.session) sessions.delete(session.node);
      // It told us: a job placed there in the next seconds could only fail.
      if (goodbye) return void silence(session);
      world.timers.after(reconnectWithinMs, () => {
        if (!sessions.has(session.node)) void silence(session);
      });
    },
  };

  async function strike(node: NodeId, item: Strike): Promise<void> {
    try {
      const answer = await store.strike(node, item, strikeRule);
      if (answer.outcome !== 'committed') return;
      const { name, strikes, outcome } = answer.value;
      const fields = { node, strikes, ...item };
      if (outcome === 'quarantined')
        world.log.error(fields, `node ${name} is quarantined: no new work until "muster undrain ${name}"`);
      else if (outcome === 'spared')
        world.log.error(
          fields,
          `node ${name} goes on taking work in spite of ${strikes} strikes: its quarantine would take too much of its pool; look at its agent`,
        );
      else world.log.warn(fields, `strike ${strikes} against node ${name}`);
    } catch (error) {
      // The connection is over all the same, and an agent that goes on like this is struck again.
      world.log.warn({ node, ...item, error: String(error) }, 'could not count a strike');
    }
  }

  async function silence(session: NodeSession): Promise<void> {
    try {
      await store.silence(session);
    } catch (error) {
      // The leader's sweep marks overdue nodes too; this was only the quick way.
      world.log.warn({ node: session.node, error: String(error) }, 'could not mark a node silent');
    }
  }
}

/** An unknown outcome must not be answered: the agent keeps its news and sends them again. */
function certain<T, R>(answer: Exclude<Outcome<T, R>, { outcome: 'refused' }>): T {
  if (answer.outcome === 'unknown')
    throw new OperationalError('outcome-unknown', 'it is not known whether this was committed');
  return answer.value;
}
