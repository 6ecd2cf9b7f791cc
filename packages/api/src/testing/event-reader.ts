// Reads a text/event-stream from a listening server, one event at a time, with a deadline in place of sleeps.

export interface ServerEvent {
  readonly event: string;
  readonly id: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever JSON came
  readonly data: any;
}

export interface EventReader {
  readonly status: number;
  readonly headers: Headers;
  /** The next event; null when the stream has ended. Comments are counted, not told. */
  next(): Promise<ServerEvent | null>;
  /** Everything until the stream ends or `enough` says so. */
  take(enough: (event: ServerEvent) => boolean): Promise<ServerEvent[]>;
  readonly comments: string[];
  close(): Promise<void>;
}

const deadlineMs = 10_000;

export async function openEvents(
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<EventReader> {
  const abort = new AbortController();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers },
    signal: abort.signal,
  });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  const comments: string[] = [];
  let buffer = '';

  async function block(): Promise<string | null> {
    for (;;) {
      const end = buffer.indexOf('\n\n');
      if (end >= 0) {
        const text = buffer.slice(0, end);
        buffer = buffer.slice(end + 2);
        return text;
      }
      const piece = await reader?.read();
      if (!piece || piece.done) return null;
      buffer += decoder.decode(piece.value, { stream: true });
    }
  }

  async function next(): Promise<ServerEvent | null> {
    const timer = setTimeout(() => abort.abort(new Error('no event came in time')), deadlineMs);
    try {
      for (;;) {
        const text = await block();
        if (text === null) return null;
        if (text.startsWith(':')) comments.push(text.slice(1).trim());
        else return eventOf(text);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    status: response.status,
    headers: response.headers,
    comments,
    next,
    async take(enough) {
      const events: ServerEvent[] = [];
      for (;;) {
        const event = await next();
        if (!event) return events;
        events.push(event);
        if (enough(event)) return events;
      }
    },
    close: async () => {
      await reader?.cancel().catch(() => undefined);
      abort.abort();
    },
  };
}

function eventOf(text: string): ServerEvent {
  const fields = new Map(
    text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  return {
    event: fields.get('event') ?? 'message',
    id: fields.get('id') ?? null,
    data: JSON.parse(fields.get('data') ?? 'null'),
  };
}
