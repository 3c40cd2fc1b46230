// Requests ad texts from the model, at most twice, and selects those that the ad platform accepts.
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import { measureAdLength, type TextSlot, textRules } from '../rules/slots.ts';
import type { Language } from './languages.ts';
import { askModel, type Business, copyInstructions, dropDuplicates, type NoAnswer, readTexts } from './prompt.ts';

export type AdCopy = Readonly<Partial<Record<TextSlot, readonly string[]>>>;

/** Returns a word if the model does not return enough usable texts. */
export async function writeCopy(
  model: LanguageModel,
  slots: readonly TextSlot[],
  about: { readonly language: Language; readonly business: Business },
  signal: AbortSignal,
): Promise<AdCopy | NoAnswer> {
  const texts = Object.fromEntries(slots.map((slot) => [slot, describeRules(slot)]));
  const task = { task: 'ad_copy', instructions: copyInstructions, ...about, texts } as const;
  const first = await askModel(model, task, signal);
  if (typeof first === 'string') return first;
  const copy = chooseTexts(slots, first.value);
  const missing = slots.filter((slot) => !isComplete(slot, copy[slot]));
  if (missing.length === 0) return copy;
  const correction = `An earlier answer had too few texts of the right length for ${missing.join(', ')}.`;
  const second = await askModel(model, { ...task, correction }, signal);
  const merged = typeof second === 'string' ? copy : merge(slots, copy, chooseTexts(slots, second.value));
  return slots.every((slot) => isComplete(slot, merged[slot])) ? merged : 'unusable';
}

function describeRules(slot: TextSlot) {
  const { wanted, maxLength, shortLength } = textRules[slot];
  return { count: wanted, max_characters: maxLength, ...(shortLength && { short: shortLength }) };
}

function chooseTexts(slots: readonly TextSlot[], value: unknown): AdCopy {
  const lists = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  return Object.fromEntries(slots.map((slot) => [slot, select(slot, readTexts(lists[slot]))]));
}

const merge = (slots: readonly TextSlot[], one: AdCopy, other: AdCopy): AdCopy =>
  Object.fromEntries(slots.map((slot) => [slot, select(slot, [...(one[slot] ?? []), ...(other[slot] ?? [])])]));

/** Selects the wanted number of texts, in the model's order. A truncated list keeps at least one short text. */
function select(slot: TextSlot, texts: readonly string[]): readonly string[] {
  const { wanted, maxLength } = textRules[slot];
  const usable = dropDuplicates(texts.filter((text) => text !== '' && measureAdLength(text) <= maxLength));
  const kept = usable.slice(0, wanted);
  const short = usable.find((text) => isShort(slot, text));
  return short === undefined || kept.includes(short) ? kept : [...kept.slice(0, -1), short];
}

const isShort = (slot: TextSlot, text: string): boolean =>
  measureAdLength(text) <= (textRules[slot].shortLength ?? textRules[slot].maxLength);

const isComplete = (slot: TextSlot, texts: readonly string[] = []): boolean =>
  texts.length >= textRules[slot].needed && texts.some((text) => isShort(slot, text));
