// The context for the assistant's tools. Tools change only the turn's draft.
import type { z } from 'zod';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { AgentTool, ToolAnswer } from '../../../core/turns/tools.ts';
import type { Db } from '../../../tables.ts';
import type { PageCheckDeps } from '../checks/check-page.ts';
import type { AppFiles, AppSchemas, AppSignUp, Draft } from '../draft.ts';

export interface ToolContext {
  readonly db: Db;
  readonly access: AppAccess;
  readonly draft: Draft;
  readonly files: AppFiles;
  readonly schemas: AppSchemas;
  readonly signUp: AppSignUp;
  readonly page: PageCheckDeps;
  /** The number of consecutive failed edits to each path. */
  readonly editFailures: Map<string, number>;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** A tool's result for the model, with an optional question for the person. A question ends the turn. */
interface ToolResult extends ToolAnswer {
  readonly question?: string;
}

export type BuilderTool = AgentTool<ToolContext, ToolResult>;

/** Defines a tool. `run` receives the input as parsed by `parameters`. */
export const defineTool = <Parameters extends z.ZodType>(tool: {
  readonly name: string;
  readonly description: string;
  readonly parameters: Parameters;
  run(input: z.output<Parameters>, context: ToolContext): Promise<ToolResult | string>;
}): BuilderTool => tool as BuilderTool;
