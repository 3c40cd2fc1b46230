// The prompt for a step: the instructions, the tools, the chat before the turn, and the turn's earlier steps.
import { z } from 'zod';
import { toTokens } from '../../core/turns/messages.ts';
import { countCharacters } from '../../core/turns/step-messages.ts';
import type { StepMessage } from '../../gateways/language-model/index.ts';
import { instructions } from './instructions.ts';
import { type StepRecord, toStepMessages } from './step.ts';
import { ask } from './tools/ask.ts';
import { checkPageTool } from './tools/check-page.ts';
import { entityTools } from './tools/entities.ts';
import { fileTools } from './tools/files.ts';
import { signUpTools } from './tools/sign-up.ts';
import type { BuilderTool } from './tools/tool.ts';

export const tools: readonly BuilderTool[] = [...fileTools, ...entityTools, ...signUpTools, checkPageTool, ask];

const toolsLength = JSON.stringify(
  tools.map((tool) => ({ ...tool, parameters: z.toJSONSchema(tool.parameters) })),
).length;

/** Returns the messages, and an estimate of the whole prompt's tokens. */
export function buildPrompt(
  history: readonly StepMessage[],
  records: readonly StepRecord[],
): { messages: StepMessage[]; promptTokens: number } {
  const messages = [...history, ...toStepMessages(records, countCharacters(history))];
  return { messages, promptTokens: toTokens(instructions.length + JSON.stringify(messages).length + toolsLength) };
}
