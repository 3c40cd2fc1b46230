// What the assistant's tool calls are called for people, and what can be read from them.
import { readArguments } from '../../ui/question.ts';
import type { ToolCall } from './transcript.ts';

/** Example: `edit_file` of public/app.js is "Changed public/app.js". */
export function describeCall({ name, arguments_string, status }: ToolCall): string {
  const args = readArguments(arguments_string);
  const text = (field: string) => String(args[field] ?? '');
  const isRunning = status === 'running';
  switch (name) {
    case 'list_files':
      return 'Looked at the files';
    case 'read_file':
      return `Read ${text('path')}`;
    case 'search_files':
      return 'Searched the files';
    case 'edit_file':
      return `${isRunning ? 'Changing' : 'Changed'} ${text('path')}`;
    case 'write_file':
      return `${isRunning ? 'Writing' : 'Wrote'} ${text('path')}`;
    case 'delete_file':
      return `Deleted ${text('path')}`;
    case 'list_entities':
      return 'Looked at the data';
    case 'read_entity':
      return `Looked at the data “${text('name')}”`;
    case 'save_entity':
      return `${isRunning ? 'Changing' : 'Changed'} the data “${text('name')}”`;
    case 'read_sign_up':
      return 'Looked up who may sign up';
    case 'set_sign_up':
      return `Chose who may sign up: ${text('who')}`;
    case 'check_page':
      return isRunning ? 'Loading the page' : 'Loaded the page';
    case 'check_files':
      return 'Checked the files';
    case 'ask':
      return 'Asked you a question';
    case 'save_revision':
      return `Saved revision ${text('revision')}`;
    default:
      return name;
  }
}

/** The checks say in their first line what they found. */
export const describeCheck = ({ name, results }: ToolCall): string | undefined =>
  name.startsWith('check_') ? results?.split('\n')[0] : undefined;

interface PathList {
  readonly count: number;
}

export interface SavedRevision {
  readonly revision: number;
  readonly files: number;
  readonly entities: number;
}

/** The revision that a message saved, if it saved one. */
export function findRevision(calls: readonly ToolCall[]): SavedRevision | undefined {
  const call = calls.findLast(({ name, status }) => name === 'save_revision' && status === 'success');
  if (call === undefined) return undefined;
  const args = readArguments(call.arguments_string);
  if (typeof args.revision !== 'number') return undefined;
  const count = (field: string) => {
    const list = args[field] as PathList | readonly unknown[] | undefined;
    return Array.isArray(list) ? list.length : ((list as PathList | undefined)?.count ?? 0);
  };
  return {
    revision: args.revision,
    files: count('created') + count('changed') + count('deleted'),
    entities: count('entities'),
  };
}

/**
 * The answers that a question names: what is listed after its colon. A question that lists nothing is answered in the
 * person's own words.
 */
export function findChoices(question: string): readonly string[] {
  const list = /:\s*([^:?]+\sor\s[^:?]+)\?\s*$/.exec(question)?.[1];
  const choices = list?.split(/,\s*(?:or\s+)?|\sor\s/).map((choice) => choice.trim()) ?? [];
  const isShort = choices.every((choice) => choice.length > 0 && choice.length <= 60);
  return choices.length >= 2 && choices.length <= 6 && isShort ? choices.map(capitalize) : [];
}

const capitalize = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

/** What a message cost by the price list: the tokens of all its steps, at least the minimum. */
export function computeCost(
  usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | null,
  price: { readonly credits: number; readonly at_least: number | null } | undefined,
): number | undefined {
  if (usage === null || price === undefined) return undefined;
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  return Math.max(price.at_least ?? 0, (tokens / 10_000) * price.credits);
}
