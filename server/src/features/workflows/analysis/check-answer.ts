// Checks a model's reply before users see it. The result is plain text without credentials, links or markup. It
// repeats no part of our instructions and mentions only steps that exist.
import { toStorableText } from '../../../kit/text.ts';
import { findSteps, removeSteps } from './citations.ts';
import { type Hider, invisible } from './hide.ts';
import { ownTexts } from './prompt.ts';

export const maxExplanationCharacters = 4_000;

/** A reply that repeats the prompt is discarded entirely. */
export type CheckedAnswer =
  | { readonly fault: 'empty' | 'repeats_prompt' }
  | { readonly fault: 'unknown_step'; readonly text: string }
  | { readonly fault: null; readonly text: string };

export interface AnswerContext {
  readonly hider: Hider;
  /** The random word on the lines before and after the document. */
  readonly boundary: string;
  /** Whether the run has a step with this number. */
  readonly isStep: (number: number) => boolean;
}

export function checkAnswer(content: string, { hider, boundary, isStep }: AnswerContext): CheckedAnswer {
  if (repeatsPrompt(content, boundary)) return { fault: 'repeats_prompt' };
  const isUnknown = (number: number) => !isStep(number);
  // Both functions run twice, because removing text can join two halves of a credential.
  const text = toPlainText(hider.hideInText(toPlainText(hider.hideInText(content))));
  const hasUnknownStep = findSteps(text).some(isUnknown);
  const kept = cutAtWord(hasUnknownStep ? removeSteps(text, isUnknown) : text);
  if (kept === '') return { fault: 'empty' };
  return { fault: hasUnknownStep ? 'unknown_step' : null, text: kept };
}

// ---- plain text

// No word or address is this long. The text was probably encoded, for example in base64, to evade the other checks.
const longWord = /\S{100,}/g;

/** Turns anything that a page or a mail program could render as a link, an image or markup into plain text. */
function toPlainText(text: string): string {
  return (
    toStorableText(text)
      .normalize('NFC')
      .replace(invisible, '')
      .replace(/\r\n?/g, '\n')
      .replace(/[^\P{Cc}\n\t]/gu, '')
      .replace(/\b(?:https?|ftp|wss?|file):\/{0,4}|\b(?:javascript|data|vbscript|mailto|tel|blob):(?=\S)/gi, '')
      // Schemes within a word, or created when the line above joined text.
      .replace(/:(?=\/\/)|(?<=javascript|data|vbscript|mailto|tel|blob):(?=\S)/gi, ' :')
      // An address's query and fragment, which could be used to leak data.
      .replace(/((?:[\w-]{1,63}\.){1,20}[a-z]{2,24}(?::\d{1,5})?(?:\/[^\s?#)\]]{0,500})?)[?#][^\s)\]]+/gi, '$1')
      .replace(/\bwww\./gi, '')
      .replace(/<(?=[a-z/!?&])/gi, '‹')
      .replace(/&(?=#?\w{1,31};)/g, '＆')
      .replace(/!+\[/g, '[')
      .replace(/\](?=[([:])/g, '] ')
      .replace(/[`]{2,}/g, '`')
      .replace(longWord, '…')
      .replace(/\n{3,}/g, '\n\n')
      .trim()
  );
}

function cutAtWord(text: string): string {
  if (text.length <= maxExplanationCharacters) return text;
  const start = text.slice(0, maxExplanationCharacters - 1).toWellFormed();
  return `${start.replace(/\s+\S*$/, '')}…`;
}

// ---- repeating the prompt

const fragmentCharacters = 40;
const fragmentEvery = 10;
const boundaryCharacters = 12;

/** Keeps only letters and digits, so spacing, punctuation and case can't hide a repetition. */
const toLetters = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

/** Any 50 consecutive letters of our prompt contain one of these fragments. */
function listFragments(text: string, length: number, every: number): string[] {
  const letters = toLetters(text);
  const count = Math.max(0, Math.floor((letters.length - length) / every) + 1);
  return Array.from({ length: count }, (_, index) => letters.slice(index * every, index * every + length));
}

const ownFragments = ownTexts.flatMap((text) => listFragments(text, fragmentCharacters, fragmentEvery));

function repeatsPrompt(content: string, boundary: string): boolean {
  const letters = toLetters(content);
  const forms = [letters, [...letters].reverse().join('')];
  const fragments = [...ownFragments, ...listFragments(boundary, boundaryCharacters, 4)];
  return forms.some((form) => fragments.some((fragment) => form.includes(fragment)));
}
