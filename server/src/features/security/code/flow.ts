// The state that is shared while an app's values are traced.
import type ts from 'typescript';
import type { Origin } from './origins.ts';
import type { Program } from './program.ts';
import type { FunctionNode } from './syntax.ts';

/**
 * A handler's parameters. `web` takes (request, context), and `node` takes (request, response). `context` takes one
 * object with both, and `event` takes an object with `event.request`. `procedure` takes tRPC's `{ input, ctx }`.
 * `action` takes any arguments, because pages call it directly.
 */
export type HandlerStyle = 'web' | 'node' | 'context' | 'event' | 'procedure' | 'action';

/** The member names that lead from a value to one of its parts. */
export type Path = readonly string[];

export interface Flow {
  readonly program: Program;
  /** The style of each function that handles requests. */
  readonly handlers: Map<FunctionNode, HandlerStyle>;
  /** The expressions traced so far. Cleared for every file, so other files' syntax trees are not kept in memory. */
  readonly memo: Map<ts.Node, Map<string, readonly Origin[]>>;
  /** How many more expressions may be traced in this file. */
  readonly budget: { left: number };
  /** Returns the origins of an expression's value, or of a part of it (values.ts). */
  originsOf(node: ts.Expression, path?: Path): readonly Origin[];
}
