// The definition of an agent's tool, and running one call. An agent's tools work on its context.
import { z } from 'zod';
import { ValidationError } from '../../kit/http/faults.ts';
import { Problem } from '../../kit/problem.ts';
import { toStorable } from '../../kit/text.ts';

/** A tool's result for the model. Agents may add other effects of the call. */
export interface ToolAnswer {
  readonly result: string;
}

export interface AgentTool<Context, Answer extends ToolAnswer = ToolAnswer> {
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodType;
  /** `input` was parsed by `parameters`. Throws a ToolError to tell the model why the call failed. */
  run(input: never, context: Context): Promise<Answer | string>;
}

/** Thrown with the reason why a call failed, in words for the model. */
export class ToolError extends Error {}

export type CallOutcome<Answer extends ToolAnswer> =
  | ({ readonly status: 'success' } & (Answer | ToolAnswer))
  | { readonly status: 'error'; readonly result: string };

/** Runs one call. The model's own mistakes are returned as the call's result. Any other error fails the turn. */
export async function runCall<Context, Answer extends ToolAnswer>(
  tools: readonly AgentTool<Context, Answer>[],
  { name, arguments_string }: { readonly name: string; readonly arguments_string: string },
  context: Context,
): Promise<CallOutcome<Answer>> {
  try {
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined)
      throw new ToolError(
        `There is no tool with this name. The tools are: ${tools.map((each) => each.name).join(', ')}.`,
      );
    const answered = await tool.run(parseArguments(tool.parameters, arguments_string) as never, context);
    return { status: 'success', ...(typeof answered === 'string' ? { result: answered } : answered) };
  } catch (error) {
    return { status: 'error', result: toRefusal(error) };
  }
}

function parseArguments(parameters: z.ZodType, text: string): unknown {
  const parsed = parameters.safeParse(toStorable(parseJson(text)));
  if (parsed.success) return parsed.data;
  throw new ToolError(`The arguments are not valid:\n${z.prettifyError(parsed.error)}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ToolError(
      'The arguments are not valid JSON. If they were cut off because they became too long, write less in one call.',
    );
  }
}

function toRefusal(error: unknown): string {
  if (error instanceof ToolError || error instanceof Problem) return error.message;
  if (error instanceof ValidationError)
    return ['It is not valid:', ...error.faults.map(({ loc, msg }) => `- ${loc.join('.')}: ${msg}`)].join('\n');
  throw error;
}
