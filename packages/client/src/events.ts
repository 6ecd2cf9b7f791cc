// The event log: a page of it, or all of it from a cursor on. The iterator goes on across reconnects without a gap or a
// repeat, because the id of each message is the cursor after it.
import type { EventView, Page } from '@muster/model';
import { pages } from './pages.ts';
import { type StreamOptions, stream } from './stream.ts';
import type { Transport } from './transport.ts';

export interface EventFilter {
  /** A cursor from an earlier page or event, 0 for the beginning, or -n for n events before the end. */
  readonly after?: string | number | undefined;
  readonly job?: string | undefined;
}

export interface FollowedEvent {
  readonly event: EventView;
  /** Give it back as `after` to go on from here. */
  readonly cursor: string | null;
}

export function eventsApi(transport: Transport) {
  const list = (
    filter: EventFilter & { readonly limit?: number | undefined } = {},
    signal?: AbortSignal,
  ): Promise<Page<EventView>> => transport.json({ path: '/v1/events', query: { ...filter }, signal });
  return {
    list,

    /** All that are there now, page by page. */
    all: (filter: EventFilter & { readonly limit?: number | undefined } = {}): AsyncIterable<EventView> =>
      pages((cursor) => list({ ...filter, ...(cursor === null ? {} : { after: cursor }) })),

    async *follow(
      filter: EventFilter = {},
      options: StreamOptions = {},
    ): AsyncGenerator<FollowedEvent, void, void> {
      const messages = stream(
        transport,
        {
          request: (lastId) => ({
            path: '/v1/events',
            query: { ...filter, after: lastId ?? filter.after },
            ...(lastId === null ? {} : { headers: { 'last-event-id': lastId } }),
          }),
          isLast: () => false,
        },
        options,
      );
      for await (const message of messages) {
        const event = JSON.parse(message.data) as Partial<EventView>;
        // A message that only moves the cursor has no event in it.
        if (typeof event.kind === 'string') yield { event: event as EventView, cursor: message.id };
      }
    },
  };
}
