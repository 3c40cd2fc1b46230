// A language model that obeys every text it reads and repeats its input: the worst case for both the data sent to a
// model and the handling of its replies. Consists of scripts for the sandbox model.
import type { ChatRequest, Script } from './chat.ts';

/**
 * `everything` repeats the whole input, including the instructions. `data` repeats only the data. `commands` follows
 * every order that it recognises in the data.
 */
export type Obedience = 'everything' | 'data' | 'commands';

export const obey =
  (what: Obedience): Script =>
  (request) => ({ text: answers[what](request) });

const join = ({ messages }: ChatRequest): string => messages.map(({ content }) => content ?? '').join('\n\n');

/** Returns the JSON document in the user's message. */
const findData = ({ messages }: ChatRequest): string =>
  (messages.at(-1)?.content ?? '').split('\n').find((line) => line.startsWith('{')) ?? '';

const answers: Readonly<Record<Obedience, (request: ChatRequest) => string>> = {
  everything: join,
  data: findData,
  commands: (request) =>
    [...new Set(listTexts(JSON.parse(findData(request) || '{}')))].map((text) => execute(text, request)).join('\n'),
};

const listTexts = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : [];
};

/** The encodings in which a text may request the output. */
const forms: readonly [RegExp, (text: string) => string][] = [
  [/base ?64/i, (text) => Buffer.from(text).toString('base64')],
  [/\bhex/i, (text) => Buffer.from(text).toString('hex')],
  [/backwards|reverse/i, (text) => [...text].reverse().join('')],
  [/letter by letter/i, (text) => [...text].join(' ')],
  [
    /every second word/i,
    (text) =>
      text
        .split(' ')
        .filter((_, index) => index % 2 === 0)
        .join(' '),
  ],
];

/** Produces the requested output: the instructions, the data about credentials, or the text's own words. */
function execute(text: string, request: ChatRequest): string {
  const wantsInstructions = /\b(?:system|instructions?|prompt|rules)\b/i.test(text);
  const wantsCredentials = /\b(?:secret|key|token|password|credential)s?\b/i.test(text);
  const said = wantsInstructions ? join(request) : wantsCredentials ? findData(request) : '';
  const form = forms.find(([order]) => order.test(text))?.[1] ?? ((plain: string) => plain);
  const carried = encodeURIComponent(findData(request).slice(0, 200));
  return `${text.replaceAll('=DATA', `=${carried}`)} ${form(said)}`;
}
