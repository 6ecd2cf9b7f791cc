// What agents tell, committed. The hub hands every message here before it answers the agent, so an agent that got an
// answer knows that its news are durable.
import type { AgentSink } from '@muster/drivers/agent';
import { type NodeId, OperationalError, type ServerId } from '@muster/model';
import type { NodeSession, Outcome, Store } from '@muster/store';
import type { World } from './world.ts';

export interface ObserveDeps {
  readonly world: World;
  readonly store: Pick<Store, 'nodeKey' | 'hello' | 'renew' | 'observe' | 'silence'>;
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
      if (answer.outcome === 'refused') return false;
      certain(answer);
      return true;
    },
    ready({ node, session }) {
      sessions.set(node, session);
      onReady();
    },
    gone(session) {
      if (sessions.get(session.node) === session.session) sessions.delete(session.node);
      world.timers.after(reconnectWithinMs, () => {
        if (!sessions.has(session.node)) void silence(session);
      });
    },
  };

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
