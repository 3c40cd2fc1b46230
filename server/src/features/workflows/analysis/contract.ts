// Owns the shape of an explanation that a caller sees.
import { z } from 'zod';
import { answer } from '../../../kit/http/shapes.ts';

export const RunExplanation = answer('WorkflowRunExplanation', {
  explanation: z
    .string()
    .max(4_000)
    .meta({ description: 'Plain text that names steps by their numbers. Empty if there is none.' }),
  generated_at: z.string().meta({ description: 'When it was stored. Empty if there is none.' }),
});
export type Explanation = z.input<typeof RunExplanation>;
