// Owns what the tools of the assistant work on. A tool changes the draft of the turn and nothing else.
import type { z } from 'zod';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { AgentTool, ToolAnswer } from '../../../core/turns/tools.ts';
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
interface ToolResult extends ToolAnswer {
  readonly question?: string;
}

export type BuilderTool = AgentTool<ToolContext, ToolResult>;

/** Defines a tool, whose `run` gets what its `parameters` parse. */
export const defineTool = <Parameters extends z.ZodType>(tool: {
  readonly name: string;
  readonly description: string;
  readonly parameters: Parameters;
  run(input: z.output<Parameters>, context: ToolContext): Promise<ToolResult | string>;
}): BuilderTool => tool as BuilderTool;
