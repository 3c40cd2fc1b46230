// Requests an explanation from the language model, with at most two calls within 30 seconds.
import { mayHaveWorked } from '../../../core/credits/unpaid.ts';
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import { checkAnswer } from './check-answer.ts';
import type { Hider } from './hide.ts';
import { buildPrompt, instructions, secondTry } from './prompt.ts';

export interface Generated {
  readonly text: string;
  readonly model: string;
}

export interface GenerateOptions {
  readonly model: LanguageModel;
  readonly hider: Hider;
  /** Whether the run has a step with this number. */
  readonly isStep: (number: number) => boolean;
  readonly signal: AbortSignal;
}

export const generationMs = 30_000;
/** Several times more than an explanation needs. The run's own texts could ask for an endless one. */
const maxOutputTokens = 4_000;

/** `unusable`: the model has worked, so the operator may have paid for it. `unavailable`: it has not. */
export type Generation = Generated | 'unusable' | 'unavailable';

/**
 * The result is not a text if the model gives no usable reply in time. If the reply is empty, repeats the instructions or
 * mentions a step that does not exist, the model is called a second time. If the second reply is missing or also
 * mentions an unknown step, the reference is removed.
 */
export async function generateExplanation(document: string, options: GenerateOptions): Promise<Generation> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(generationMs)]);
  const first = await ask(document, instructions, { ...options, signal });
  if (typeof first === 'string') return first;
  if (first.fault === null) return first.usable ?? 'unusable';
  const second = await ask(document, `${instructions}\n\n${secondTry}`, { ...options, signal });
  return (typeof second === 'string' ? undefined : second.usable) ?? first.usable ?? 'unusable';
}

interface Asked {
  readonly fault: 'empty' | 'repeats_prompt' | 'unknown_step' | null;
  /** The text to show to users. */
  readonly usable: Generated | undefined;
}

/** Returns a word if the model is unavailable or its reply is incomplete. */
async function ask(
  document: string,
  system: string,
  options: GenerateOptions,
): Promise<Asked | 'unusable' | 'unavailable'> {
  const { model, signal } = options;
  const { content, boundary } = buildPrompt(document);
  const answer = await model.step(
    { model: null, instructions: system, messages: [{ role: 'user', content }], tools: [], maxOutputTokens, signal },
    () => {},
  );
  if (answer.outcome === 'unavailable') return mayHaveWorked(answer) ? 'unusable' : 'unavailable';
  if (answer.is_cut) return 'unusable';
  const checked = checkAnswer(answer.content, { ...options, boundary });
  return { fault: checked.fault, usable: 'text' in checked ? { text: checked.text, model: answer.model } : undefined };
}
