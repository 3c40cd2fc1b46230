// The sandbox model's part in the trial of `plinth doctor --model`. Unlike its other conversations, this one is not
// recorded: the edit is computed from the file that the tool returned, and the code word is read from the prompt.
import type { ChatRequest, ModelReply } from './chat.ts';

export const isForDoctor = ({ messages }: ChatRequest): boolean =>
  messages.some(({ role, content }) => role === 'system' && content?.includes('"plinth doctor"'));

/** Returns the next step. */
export function playDoctor({ messages }: ChatRequest): ModelReply {
  const question = messages.find(({ role }) => role === 'user')?.content ?? '';
  const codeWord = /^The code word is (\S+)\.\n/.exec(question)?.[1];
  if (codeWord !== undefined) return { text: codeWord };
  const [, path = '', key = '', value = ''] = /In (\S+), change the price of (\S+) to (\d+)/.exec(question) ?? [];
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content ?? '');
  const [file] = results;
  if (file === undefined) return { tool_calls: [{ name: 'read_file', arguments: { path } }] };
  const old_text = file.split('\n').find((line) => line.includes(`'${key}'`));
  if (results.length > 1 || old_text === undefined) return { text: 'done' };
  const new_text = old_text.replace(/\d+(?=,?$)/, value);
  return { tool_calls: [{ name: 'edit_file', arguments: { path, old_text, new_text } }] };
}
