// Owns what a tool of the assistant is, and running one call of a tool. A tool changes the draft of the turn and nothing else.
import { z } from 'zod';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { RequestedCall, ToolDescription } from '../../../gateways/language-model/index.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import { toStorable } from '../../../kit/text.ts';
import type { Db } from '../../../tables.ts';
import type { PageCheckDeps } from '../checks/check-page.ts';
import type { AppFiles, AppSchemas, Draft } from '../draft.ts';

export interface ToolContext {
  readonly db: Db;
  readonly access: AppAccess;
  readonly draft: Draft;
  readonly files: AppFiles;
  readonly schemas: AppSchemas;
  readonly page: PageCheckDeps;
  /** How many edits in a row have failed, by path. */
  readonly editFailures: Map<string, number>;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** What a tool answers: a result for the model, and what it asks the person, which ends the turn. */
export interface ToolResult {
  readonly result: string;
  readonly question?: string;
}

export interface BuilderTool extends ToolDescription {
  /** `input` was parsed by `parameters`. Throws a ToolError to tell the model why it can't be done. */
  run(input: never, context: ToolContext): Promise<ToolResult | string>;
}

/** Defines a tool, whose `run` gets what its `parameters` parse. */
export const defineTool = <Parameters extends z.ZodType>(tool: {
  readonly name: string;
  readonly description: string;
  readonly parameters: Parameters;
  run(input: z.output<Parameters>, context: ToolContext): Promise<ToolResult | string>;
}): BuilderTool => tool as BuilderTool;

/** Why a call can't be done, in words for the model. */
export class ToolError extends Error {}

export interface CallOutcome extends ToolResult {
  readonly status: 'success' | 'error';
}

/** Runs one call. What the model did wrong is its result; anything else that is thrown fails the turn. */
export async function runCall(
  tools: readonly BuilderTool[],
  { name, arguments_string }: RequestedCall,
  context: ToolContext,
): Promise<CallOutcome> {
  try {
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined)
      throw new ToolError(
        `There is no tool with this name. The tools are: ${tools.map((each) => each.name).join(', ')}.`,
      );
    const answered = await tool.run(parseArguments(tool, arguments_string) as never, context);
    return { status: 'success', ...(typeof answered === 'string' ? { result: answered } : answered) };
  } catch (error) {
    return { status: 'error', result: toRefusal(error) };
  }
}

function parseArguments({ parameters }: BuilderTool, text: string): unknown {
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
