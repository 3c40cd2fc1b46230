// A language model that obeys whatever it reads and repeats what it was sent: the worst case for what is sent to a model, and for
// what is done with its answers. Scripts for the model sandbox.
import type { ChatRequest, Script } from './model.ts';

/**
 * `everything`: repeats all that it was sent, its instructions included. `data`: repeats only the data. `commands`: does what each
 * text in the data orders, as far as it recognises it.
 */
export type Obedience = 'everything' | 'data' | 'commands';

export const obey =
  (what: Obedience): Script =>
  (request) => ({ text: answers[what](request) });

const join = ({ messages }: ChatRequest): string => messages.map(({ content }) => content ?? '').join('\n\n');

/** The JSON document in what the user said. */
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

/** In what form to say it. */
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

/** Says what the text asks for: the instructions, what it was sent about credentials, or what the text itself wants to be repeated. */
function execute(text: string, request: ChatRequest): string {
  const wantsInstructions = /\b(?:system|instructions?|prompt|rules)\b/i.test(text);
  const wantsCredentials = /\b(?:secret|key|token|password|credential)s?\b/i.test(text);
  const said = wantsInstructions ? join(request) : wantsCredentials ? findData(request) : '';
  const form = forms.find(([order]) => order.test(text))?.[1] ?? ((plain: string) => plain);
  const carried = encodeURIComponent(findData(request).slice(0, 200));
  return `${text.replaceAll('=DATA', `=${carried}`)} ${form(said)}`;
}
