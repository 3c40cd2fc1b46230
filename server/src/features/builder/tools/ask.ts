// The tool for asking the person a question.
import { z } from 'zod';
import { defineTool } from './tool.ts';

export const ask = defineTool({
  name: 'ask',
  description:
    'Asks the person a question and ends the turn. Use it if you cannot know what they want, before you change anything: what you have changed so far is saved.',
  parameters: z.object({ question: z.string().trim().min(1).max(4_000) }),
  run: async ({ question }) => ({ result: 'The person was asked. The turn ends here.', question }),
});
