// Owns asking the language model for an explanation: at most twice, within 30 seconds.
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

/**
 * Returns undefined if the model gives no usable answer in time. An answer that names a step that does not exist, or repeats the
 * instructions, is asked for once more. If the second names one too, or there is none, the reference is removed.
 */
export async function generateExplanation(document: string, options: GenerateOptions): Promise<Generated | undefined> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(generationMs)]);
  const first = await ask(document, instructions, { ...options, signal });
  if (first === undefined || first.fault === null) return first?.usable;
  const second = await ask(document, `${instructions}\n\n${secondTry}`, { ...options, signal });
  return second?.usable ?? first.usable;
}

interface Asked {
  readonly fault: 'empty' | 'repeats_prompt' | 'unknown_step' | null;
  /** What people may see of the answer. */
  readonly usable: Generated | undefined;
}

/** Undefined: the model is unavailable, or did not complete its answer. */
async function ask(document: string, system: string, options: GenerateOptions): Promise<Asked | undefined> {
  const { model, signal } = options;
  const { content, boundary } = buildPrompt(document);
  const answer = await model.step(
    { model: null, instructions: system, messages: [{ role: 'user', content }], tools: [], signal },
    () => {},
  );
  if (answer.outcome === 'unavailable' || answer.is_cut) return undefined;
  const checked = checkAnswer(answer.content, { ...options, boundary });
  return { fault: checked.fault, usable: 'text' in checked ? { text: checked.text, model: answer.model } : undefined };
}
