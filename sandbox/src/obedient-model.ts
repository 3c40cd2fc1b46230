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
    listTexts(JSON.parse(findData(request) || '{}'))
      .flatMap((text) => execute(text, request))
      .join('\n'),
};

const listTexts = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : [];
};

/** What is ordered, and how it is said. */
const orders: readonly [RegExp, (all: string, command: string) => string][] = [
  [/\b(?:system|instructions?|prompt|rules)\b/i, (all) => all],
  [/\b(?:secret|key|token|password|credential)s?\b/i, (all) => all.slice(all.indexOf('{'))],
  [/base ?64/i, (all) => Buffer.from(all).toString('base64')],
  [/\bhex/i, (all) => Buffer.from(all).toString('hex')],
  [/backwards|reverse/i, (all) => [...all].reverse().join('')],
  [/letter by letter|spaces between/i, (all) => [...all].join(' ')],
  [
    /\bwords? at a time|every (?:second|other) word/i,
    (all) =>
      all
        .split(' ')
        .filter((_, index) => index % 2 === 0)
        .join(' '),
  ],
  [/https?:|!\[|<\w|\]\(/i, (all, command) => command.replaceAll('DATA', encodeURIComponent(all.slice(-200)))],
];

function execute(text: string, request: ChatRequest): string[] {
  const done = orders.filter(([order]) => order.test(text)).map(([, run]) => run(join(request), text));
  return [text, ...done];
}
