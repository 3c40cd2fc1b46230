// What `plinthctl call` shows to people instead of the whole answer, where the answer is long and its point is short.
import type { AgentMessage, ChatTurn } from '../../sdk/src/index.ts';
import { quote } from './names.ts';
import { clean, wrap } from './output.ts';

type Summarise = (data: unknown) => string;

/** By the operation. */
export const summaries: Readonly<Record<string, Summarise>> = {
  sendChatMessage: (data) => describeTurn(data as ChatTurn),
  sendAgentMessage: (data) => say((data as AgentMessage).content),
};

/** What the assistant said last, and what became of the app. */
function describeTurn({ app, conversation: { messages }, status }: ChatTurn): string {
  const last = messages.findLast(({ role, hidden }) => role !== 'user' && !hidden);
  const state = status.message === '' ? status.state : `${status.state}: ${status.message}`;
  return [
    ...(last === undefined ? [] : [say(last.content), '']),
    clean(`${app.name}: revision ${app.revision}, ${state}`),
    `To look at it: plinthctl app preview --app ${quote(clean(app.name))}`,
    `To publish it: plinthctl app publish --app ${quote(clean(app.name))}`,
  ].join('\n');
}

const say = (text: string): string => wrap(clean(text));
