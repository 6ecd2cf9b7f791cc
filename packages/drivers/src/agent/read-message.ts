// From bytes to a message that the schema accepts. Agents are authenticated but not trusted to be well.
import { type AgentMessage, agentMessageSchema, clip, maxMessageBytes, type Strike } from '@muster/model';

export type ReadMessage =
  | { readonly ok: true; readonly message: AgentMessage }
  | { readonly ok: false; readonly strike: Strike };

/** What we quote of a message goes to logs and back over the wire, and may be all of its megabytes. */
const longestDetail = 80;
const longestPath = 30;

const bad = (code: Strike['code'], detail: string): ReadMessage => ({
  ok: false,
  strike: { code, detail: clip(detail, longestDetail) },
});

export function readMessage(data: Uint8Array): ReadMessage {
  if (data.byteLength > maxMessageBytes) return bad('too-large', `message of ${data.byteLength} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data));
  } catch {
    return bad('bad-message', 'message is not JSON');
  }
  const parsed = agentMessageSchema.safeParse(value);
  if (parsed.success) return { ok: true, message: parsed.data as AgentMessage };
  const issue = parsed.error.issues[0];
  const at = issue && issue.path.length > 0 ? ` at ${clip(issue.path.join('.'), longestPath)}` : '';
  const what = issue?.message ?? 'message has the wrong shape';
  return bad('bad-message', `${clip(what, longestDetail - at.length)}${at}`);
}

/**
 * A WebSocket cuts off by itself what is too large or no proper frame, before we see it. Null for what the network does
 * to anybody.
 */
export function strikeOfError(error: Error & { readonly code?: unknown }): Strike | null {
  const { code } = error;
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')
    return { code: 'too-large', detail: `message of more than ${maxMessageBytes} bytes` };
  if (typeof code !== 'string' || !code.startsWith('WS_ERR_')) return null;
  return { code: 'bad-message', detail: error.message };
}
