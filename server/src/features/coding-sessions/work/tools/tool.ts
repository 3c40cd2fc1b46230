// The context for the agent's tools: the current tree, and the sandbox for commands. Tools change only the tree.
import type { z } from 'zod';
import type { AgentTool, ToolAnswer } from '../../../../core/turns/tools.ts';
import type { BareRepository, TreeChange } from '../../../../kit/git/types.ts';
import type { InputRequest } from '../../contract.ts';
import type { Clone } from '../clone.ts';

/** The current work, as a tree in the repository. */
export interface WorkTree {
  readonly repository: BareRepository;
  /** The tree that the turn started from. */
  readonly startTree: string;
  tree: string;
  /** The number of bytes that tools have written in this turn. */
  writtenBytes: number;
}

export interface ToolContext {
  readonly work: WorkTree;
  readonly clone: Clone;
  /** The number of consecutive failed edits to each path. */
  readonly editFailures: Map<string, number>;
  /** Appends a line to the session's log. */
  readonly log: (line: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/** A question or approval for the user, which ends the step. */
export type Asked = Pick<InputRequest, 'kind' | 'questions' | 'approval'>;

export interface ToolResult extends ToolAnswer {
  readonly asked?: Asked;
}

export type CodingTool = AgentTool<ToolContext, ToolResult>;

/** Defines a tool. `run` receives the input as parsed by `parameters`. */
export const defineTool = <Parameters extends z.ZodType>(tool: {
  readonly name: string;
  readonly description: string;
  readonly parameters: Parameters;
  run(input: z.output<Parameters>, context: ToolContext): Promise<ToolResult | string>;
}): CodingTool => tool as CodingTool;

export async function changeTree({ work }: ToolContext, changes: readonly TreeChange[]): Promise<void> {
  work.tree = await work.repository.writeTree(work.tree, changes);
}
