// The prompt for a step: the instructions, the tools, the session's earlier turns, and the current turn so far.
import { z } from 'zod';
import { toTokens } from '../../../core/turns/messages.ts';
import { countCharacters, type SentMessage, shorten } from '../../../core/turns/step-messages.ts';
import type { SessionRow } from '../store/sessions.ts';
import { instructions } from './instructions.ts';
import { isFinish, type Received, type StepRecord, toMessages } from './step.ts';
import { askTools } from './tools/ask.ts';
import { runCommand } from './tools/command.ts';
import { fileTools } from './tools/files.ts';
import type { CodingTool } from './tools/tool.ts';

export const tools: readonly CodingTool[] = [...fileTools, runCommand, ...askTools];

const toolsLength = JSON.stringify(
  tools.map((tool) => ({ ...tool, parameters: z.toJSONSchema(tool.parameters) })),
).length;

/** The turns before the current one, oldest first. */
export type EarlierTurns = readonly (readonly StepRecord[])[];

const maxEarlierTurns = 20;
const maxEarlierCharacters = 8_000;

/** Builds the conversation of earlier turns, without tool calls. The first turn begins with the session's prompt. */
export function buildHistory(
  { title, prompt, repository_full_name, work_branch, turn }: SessionRow,
  earlier: EarlierTurns,
  received: ReadonlyMap<string, Received>,
): SentMessage[] {
  const task = `Repository: ${repository_full_name}\nBranch: ${work_branch}\nTask: ${title}\n\n${prompt}`;
  const turns = earlier.slice(-maxEarlierTurns).flatMap((records): SentMessage[] => {
    const asked = records.flatMap((record) => record.received.flatMap((id) => received.get(id)?.text ?? []));
    const last = records.at(-1);
    const ended =
      last !== undefined && isFinish(last) ? last.content : '(This turn was stopped before it was finished.)';
    return [
      ...(asked.length === 0
        ? []
        : [{ role: 'user' as const, content: shorten(asked.join('\n\n'), maxEarlierCharacters) }]),
      { role: 'assistant', content: shorten(ended || '…', maxEarlierCharacters), tool_calls: [] },
    ];
  });
  return [{ role: 'user', content: task }, ...(turn > 1 ? turns : [])];
}

/** Returns the messages, and an estimate of the whole request's tokens. */
export function buildPrompt(
  history: readonly SentMessage[],
  records: readonly StepRecord[],
  received: ReadonlyMap<string, Received>,
  pending: readonly Received[],
): { messages: SentMessage[]; promptTokens: number } {
  const own = toMessages(records, received, pending, countCharacters(history));
  const messages = mergeUsers([...history, ...own]);
  return { messages, promptTokens: toTokens(instructions.length + JSON.stringify(messages).length + toolsLength) };
}

/** Models expect user and assistant messages to alternate. */
function mergeUsers(messages: readonly SentMessage[]): SentMessage[] {
  const merged: SentMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (last?.role === 'user' && message.role === 'user')
      merged.splice(-1, 1, { role: 'user', content: `${last.content}\n\n${message.content}` });
    else merged.push(message);
  }
  return merged;
}
