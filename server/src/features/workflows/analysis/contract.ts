// The response schema for explanations.
import { z } from 'zod';
import { answer, described } from '../../../kit/http/shapes.ts';

export const RunExplanation = answer('WorkflowRunExplanation', {
  explanation: described(
    z.string().max(4_000),
    'The explanation as plain text, which refers to steps by number; empty if there is none.',
  ),
  generated_at: described(z.string(), 'When the explanation was stored; empty if there is none.'),
});
export type Explanation = z.input<typeof RunExplanation>;
