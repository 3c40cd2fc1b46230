// The agent's tools for asking the user questions. The session waits for the answer, which becomes the call's
// result.
import { z } from 'zod';
import { ToolError } from '../../../../core/turns/tools.ts';
import { makeHarmless } from '../../../../kit/harmless.ts';
import { type CodingTool, defineTool } from './tool.ts';

/** Control characters are made harmless, because people base their decisions on the displayed text. */
const shown = z.string().overwrite(makeHarmless);

const question = z.object({
  text: shown.trim().min(1).max(2_000),
  options: z
    .array(z.object({ label: shown.trim().min(1).max(200), description: shown.trim().max(1_000).default('') }))
    .max(10)
    .default([])
    .describe('Answers to choose from'),
  multi_select: z.boolean().default(false).describe('Whether several options may be chosen'),
  allow_custom_text: z.boolean().default(true).describe('Whether the person may answer in their own words'),
});

const askQuestion = defineTool({
  name: 'ask_question',
  description:
    'Asks the person one or more questions, and waits for the answers. Use it only if you cannot find out yourself what they want.',
  parameters: z.object({ questions: z.array(question).min(1).max(5) }),
  async run({ questions }, context) {
    for (const { options } of questions)
      if (new Set(options.map(({ label }) => label)).size < options.length)
        throw new ToolError('The labels of the options of a question must differ.');
    await context.log(`Asked: ${questions.map(({ text }) => text).join(' ')}`);
    const numbered = questions.map((each, question_index) => ({
      ...each,
      question_index,
      allow_custom_text: each.allow_custom_text || each.options.length === 0,
    }));
    return { result: '', asked: { kind: 'question', questions: numbered, approval: null } };
  },
});

const askApproval = defineTool({
  name: 'ask_approval',
  description:
    'Asks the person to approve something before you do it: a command, deleting files, or a plan. Waits for the answer.',
  parameters: z.object({
    title: shown.trim().min(1).max(200),
    description: shown.trim().max(4_000).default(''),
    action: z.enum(['run_command', 'delete_files', 'plan']),
    details: shown.max(20_000).default('').describe('The command, the paths of the files, or the plan'),
  }),
  async run(approval, context) {
    await context.log(`Asked for approval: ${approval.title}`);
    return { result: '', asked: { kind: 'approval', questions: [], approval } };
  },
});

export const askTools: readonly CodingTool[] = [askQuestion, askApproval];
