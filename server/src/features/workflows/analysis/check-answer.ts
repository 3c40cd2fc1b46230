// Owns what of a model's answer people get to see: plain text without credentials, links or markup, which repeats nothing of our
// instructions and names only steps that exist.
import { toStorableText } from '../../../kit/text.ts';
import { findSteps, removeSteps } from './citations.ts';
import { type Hider, invisible } from './hide.ts';
import { ownTexts } from './prompt.ts';

export const maxExplanationCharacters = 4_000;

/** `repeats_prompt`: it can't be used. */
export type CheckedAnswer =
  | { readonly fault: 'empty' | 'repeats_prompt' }
  | { readonly fault: 'unknown_step'; readonly text: string }
  | { readonly fault: null; readonly text: string };

export interface AnswerContext {
  readonly hider: Hider;
  /** The word around the document. */
  readonly boundary: string;
  /** The numbers of all steps of the run. */
  readonly isStep: (number: number) => boolean;
}

export function checkAnswer(content: string, { hider, boundary, isStep }: AnswerContext): CheckedAnswer {
  if (repeatsPrompt(content, boundary)) return { fault: 'repeats_prompt' };
  const isUnknown = (number: number) => !isStep(number);
  // Again afterwards: a credential must not come about because something between its parts was removed.
  const text = toPlainText(hider.hideInText(toPlainText(hider.hideInText(content))));
  const hasUnknownStep = findSteps(text).some(isUnknown);
  const kept = cutAtWord(hasUnknownStep ? removeSteps(text, isUnknown) : text);
  if (kept === '') return { fault: 'empty' };
  return { fault: hasUnknownStep ? 'unknown_step' : null, text: kept };
}

// ---- plain text

// Longer than any word or address: what is encoded to pass unnoticed, such as base 64.
const longWord = /\S{100,}/g;

/** Anything that a page or a mail program could turn into a link, an image or markup becomes text. */
function toPlainText(text: string): string {
  return (
    toStorableText(text)
      .normalize('NFC')
      .replace(invisible, '')
      .replace(/\r\n?/g, '\n')
      .replace(/[^\P{Cc}\n\t]/gu, '')
      .replace(/\b(?:https?|ftp|wss?|file):\/{0,4}|\b(?:javascript|data|vbscript|mailto|tel|blob):(?=\S)/gi, '')
      // What removing one has joined to another, or is part of a word.
      .replace(/:(?=\/\/)|(?<=javascript|data|vbscript|mailto|tel|blob):(?=\S)/gi, ' :')
      // What follows an address: where data would be carried away.
      .replace(/((?:[\w-]{1,63}\.){1,20}[a-z]{2,24}(?::\d{1,5})?(?:\/[^\s?#)\]]{0,500})?)[?#][^\s)\]]+/gi, '$1')
      .replace(/\bwww\./gi, '')
      .replace(/<(?=[a-z/!?&])/gi, '‹')
      .replace(/&(?=#?\w{1,31};)/g, '＆')
      .replace(/!\[/g, '[')
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

/** Only the letters and digits, so that neither spacing nor punctuation nor case hides a repetition. */
const toLetters = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

/** Each text of 50 letters or more of ours contains one of these. */
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
