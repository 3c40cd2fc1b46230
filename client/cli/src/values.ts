// Values on the command line: text, JSON, a file's content (`@file`) or stdin (`-`).
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { DescribedArgument } from './describe.ts';
import { CommandError } from './exit.ts';

/** `@@` stands for a text that begins with `@`. */
export async function readValue(value: string): Promise<string> {
  if (value === '-') return text(process.stdin);
  if (value.startsWith('@@')) return value.slice(1);
  if (!value.startsWith('@')) return value;
  return readFile(value.slice(1), 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${value.slice(1)} can't be read (${error.code}).`, 'file_unreadable');
  });
}

export function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`${name} must be valid JSON.`);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const mayBeText = ({ type }: DescribedArgument): boolean => type === 'unknown' || /(^|\| )string( \||$)/.test(type);

/** How an argument of an operation is written: as text, a number, true or false, a list of texts, or JSON. */
export function kindOf({ type }: DescribedArgument): 'text' | 'number' | 'boolean' | 'texts' | 'json' {
  const parts = type.replace(/ \| null$/, '');
  if (parts === 'number') return 'number';
  if (parts === 'boolean' || parts === 'true') return 'boolean';
  if (parts === 'string' || /^'[^']*'( \| '[^']*')*$/.test(parts)) return 'text';
  if (parts === 'string[]' || /^\('[^']*'( \| '[^']*')*\)\[\]$/.test(parts)) return 'texts';
  return 'json';
}

export async function parseArgument(
  name: string,
  argument: DescribedArgument,
  values: readonly string[],
): Promise<unknown> {
  const texts = await Promise.all(values.map(readValue));
  const [text = ''] = texts;
  const kind = kindOf(argument);
  if (text === 'null' && argument.type.endsWith('| null')) return null;
  if (kind === 'texts') return texts.length === 1 && text.startsWith('[') ? parseJson(text, `--${name}`) : texts;
  if (texts.length > 1) throw new CommandError(`--${name} is there twice. Only lists can be repeated.`);
  if (kind === 'text') return text;
  if (kind === 'json') return isJson(text) || !mayBeText(argument) ? parseJson(text, `--${name}`) : text;
  if (kind === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  if (kind === 'number' && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  throw new CommandError(`--${name} must be ${kind === 'number' ? 'a number' : 'true or false'}.`);
}

/** A whole number, as an option of a command. */
export function parseNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new CommandError(`${text} must be a whole number.`);
  return Number(text);
}
