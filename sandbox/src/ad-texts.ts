// The sandbox model's replies about ads: texts and search themes built from the business's name and description.
// They are in English regardless of the requested language, and say so where their format allows it.
import type { ChatRequest, ModelReply } from './chat.ts';

interface AdTask {
  readonly task: 'search_themes' | 'ad_copy';
  readonly business_name: string;
  readonly business_description: string;
  readonly texts?: Readonly<
    Record<string, { readonly count: number; readonly max_characters: number; readonly short?: number }>
  >;
}

/** Returns undefined if the request is not about ads. */
export function writeAdTexts({ messages }: ChatRequest): ModelReply | undefined {
  const { role, content } = messages.at(-1) ?? {};
  const task = role === 'user' ? parseTask(content ?? '') : undefined;
  if (task === undefined) return undefined;
  return { text: JSON.stringify(task.task === 'search_themes' ? listThemes(task) : writeCopy(task)) };
}

function parseTask(content: string): AdTask | undefined {
  try {
    const task = JSON.parse(content);
    return task?.task === 'search_themes' || task?.task === 'ad_copy' ? task : undefined;
  } catch {
    return undefined;
  }
}

const listThemes = ({ business_name, business_description }: AdTask): string[] => {
  const words = [...new Set(business_description.toLowerCase().match(/[\p{L}\p{N}]{4,20}/gu) ?? [])].slice(0, 6);
  return [
    business_name,
    `${business_name} reviews`,
    `${business_name} near me`,
    ...words.map((word) => `${word} online`),
  ];
};

const patterns = [
  'Try it today',
  'Meet {name}',
  '{name}, made for you',
  'See what {name} does',
  '{name} is ready',
  'Start now',
];
const longer = [
  'Sample text by the sandbox: {name} is ready for you. Have a look today.',
  'See for yourself what {name} does.',
  '{name}: open the page and try it.',
  'Have a look at {name}, and tell us what you think of it.',
  'Find out what {name} can do for you.',
];

function writeCopy({ business_name, texts = {} }: AdTask): Record<string, string[]> {
  const fill = (pattern: string) => pattern.replace('{name}', business_name);
  const fallback = (index: number) => `Have a look, number ${index + 1}`;
  return Object.fromEntries(
    Object.entries(texts).map(([slot, { count, max_characters, short = max_characters }]) => {
      const filled = (slot === 'HEADLINE' ? patterns : longer).map(fill);
      const fitting = filled.filter((text) => measure(text) <= max_characters);
      const missing = Array.from({ length: Math.max(0, count - fitting.length) }, (_, index) => fallback(index));
      const written = [...fitting, ...missing].slice(0, count);
      const hasShort = written.some((text) => measure(text) <= short);
      return [slot, hasShort ? written : [...written.slice(0, -1), fallback(count)]];
    }),
  );
}

/** Counts wide characters twice. */
const measure = (text: string): number => [...text].reduce((sum, each) => sum + (each > '\u2e7f' ? 2 : 1), 0);
