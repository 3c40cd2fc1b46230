// The conversation that the sandbox model plays if a request offers the coding session tools: recorded calls for the
// demo repository, selected by the prompt. Test results in its replies are read from the command's output. Each step is
// derived from the request's messages alone, so no state is kept between requests.

import type { ChatRequest, ModelReply } from './chat.ts';
import type { CodingPlay } from './coding-play.ts';
import { codingPlays } from './demo-repository/plays.ts';

const codingTools = ['list_files', 'read_file', 'search', 'edit_file', 'run_command', 'ask_question', 'ask_approval'];

export const isForCoding = ({ tools = [] }: ChatRequest): boolean =>
  codingTools.every((name) => tools.some((tool) => tool.function.name === name));

/** Returns the next step. A step without calls ends the play early. */
export function playCoding(request: ChatRequest, plays: readonly CodingPlay[] = codingPlays): ModelReply {
  const { task, replies, seen, additions } = readTurn(request);
  const play = plays.find(({ pattern }) => pattern.test(task));
  if (play === undefined) return { text: repertoire };
  const refusal = seen.last.find((result) => refusals.test(result));
  if (refusal !== undefined) return { text: `${cannotGoOn} A tool answered: ${refusal.slice(0, 200)}` };
  const step = play.steps[replies] ?? play.steps.at(-1);
  const reply = step?.(seen) ?? { text: repertoire };
  const isEnd = reply.tool_calls === undefined;
  return isEnd && additions.length > 0 ? { ...reply, text: `${reply.text}\n\n${sayWhatWasLeft(additions)}` } : reply;
}

const repertoire =
  'I am a stand-in for a language model and play recorded calls of tools. In the demo repository, ask me to make the failing tests pass, to print prices with a currency, or to delete the prices that nothing uses; or ask how the discount is computed. For anything else, set MODEL_URL to a real model.';
const cannotGoOn =
  "I can't continue: I am a stand-in for a language model, and my recorded calls fit the demo repository as it was at first.";
const sayWhatWasLeft = (additions: readonly string[]): string =>
  `Not done, because my calls are recorded: ${additions.map((text) => `“${text.slice(0, 200)}”`).join(', ')}.`;

/** Matches tool results that reject a call. */
const refusals = /^(?:old_text |There is no |The file |The path |The arguments |Nothing was changed|Not changed)/;

type Message = ChatRequest['messages'][number] & { readonly tool_calls?: readonly unknown[] };

/**
 * A task begins with the user's first message, or with the first user message after a final reply. Other user messages
 * add to the current task.
 */
function readTurn({ messages }: { readonly messages: readonly Message[] }) {
  const begins = ({ role }: Message, at: number) =>
    role === 'user' && !messages.slice(lastEnd(messages, at) + 1, at).some((before) => before.role === 'user');
  const start = messages.findLastIndex(begins);
  const since = messages.slice(start + 1);
  const lastReply = since.findLastIndex(({ role }) => role === 'assistant');
  const textsOf = (part: readonly Message[], role: string) =>
    part.filter((message) => message.role === role).map(({ content }) => toText(content));
  return {
    task: toText(messages[start]?.content),
    replies: textsOf(since, 'assistant').length,
    seen: { last: textsOf(since.slice(lastReply + 1), 'tool'), results: textsOf(since, 'tool') },
    additions: textsOf(since, 'user'),
  };
}

/** Returns the index of the last final reply before `at`, or -1. */
const lastEnd = (messages: readonly Message[], at: number): number =>
  messages.slice(0, at).findLastIndex(({ role, tool_calls = [] }) => role === 'assistant' && tool_calls.length === 0);

const toText = (content: unknown): string => {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? '').join('') : '';
};
