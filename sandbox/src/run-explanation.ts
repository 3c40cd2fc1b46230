// The sandbox model's replies about failed workflow runs. They repeat the error and name the step.
import type { ChatRequest, ModelReply } from './chat.ts';

interface FailedRun {
  readonly failure: { readonly step: number | null; readonly message: string | null };
  readonly steps: readonly { readonly step: number; readonly name: string }[];
}

/** The document about the run is enclosed by two lines with the same random word. */
const document = /^(DATA-[0-9a-f]+)\n([\s\S]*)\n\1$/m;

/** Returns undefined if the request is not about a failed run. */
export function explainRun({ messages }: ChatRequest): ModelReply | undefined {
  const { role, content } = messages.at(-1) ?? {};
  const text = role === 'user' ? document.exec(content ?? '')?.[2] : undefined;
  if (text === undefined) return undefined;
  const { failure, steps } = JSON.parse(text) as FailedRun;
  const name = steps.find(({ step }) => step === failure.step)?.name;
  const where = name === undefined ? 'The run failed' : `The run failed in step ${failure.step} (${name})`;
  const hint = 'Compare the input of that step with what the message asks for';
  return { text: `${where}. Its message is: ${failure.message} ${hint}. I am a stand-in for a language model.` };
}
