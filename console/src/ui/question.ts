// The question with which the assistant ends a message, if it asks one.
import type { Data } from '../data/client.ts';

type Message = Data<'getChat'>['items'][number];

export function findQuestion(calls: Message['tool_calls']): string | undefined {
  const call = calls.findLast(({ name }) => name === 'ask');
  const { question } = readArguments(call?.arguments_string ?? '{}');
  return typeof question === 'string' ? question : undefined;
}

/** What a message says before its question. */
export function withoutQuestion({ content, tool_calls }: Pick<Message, 'content' | 'tool_calls'>): string {
  const question = findQuestion(tool_calls);
  return question !== undefined && content.endsWith(question) ? content.slice(0, -question.length).trimEnd() : content;
}

/** Reads the arguments of a tool call, which are shortened, so they may not be whole. */
export function readArguments(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
