// Owns what the tools of the agent work on: the present tree, and the sandbox for commands. A tool changes the tree and nothing else.
import type { z } from 'zod';
import type { AgentTool, ToolAnswer } from '../../../../core/turns/tools.ts';
import type { BareRepository, TreeChange } from '../../../../kit/git/types.ts';
import type { InputRequest } from '../../contract.ts';
import type { Clone } from '../clone.ts';

/** The state of the work: a tree in the repository. */
export interface WorkTree {
  readonly repository: BareRepository;
  /** Where the turn has started. */
  readonly startTree: string;
  tree: string;
  /** What tools have written in this turn. */
  writtenBytes: number;
}

export interface ToolContext {
  readonly work: WorkTree;
  readonly clone: Clone;
  /** How many edits in a row have failed, by path. */
  readonly editFailures: Map<string, number>;
  /** What people who follow the session see. */
  readonly log: (line: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/** What the person is asked, which ends the step. */
export type Asked = Pick<InputRequest, 'kind' | 'questions' | 'approval'>;

export interface ToolResult extends ToolAnswer {
  readonly asked?: Asked;
}

export type CodingTool = AgentTool<ToolContext, ToolResult>;

/** Defines a tool, whose `run` gets what its `parameters` parse. */
export const defineTool = <Parameters extends z.ZodType>(tool: {
  readonly name: string;
  readonly description: string;
  readonly parameters: Parameters;
  run(input: z.output<Parameters>, context: ToolContext): Promise<ToolResult | string>;
}): CodingTool => tool as CodingTool;

export async function changeTree({ work }: ToolContext, changes: readonly TreeChange[]): Promise<void> {
  work.tree = await work.repository.writeTree(work.tree, changes);
}
