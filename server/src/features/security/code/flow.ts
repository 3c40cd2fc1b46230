// Owns what is shared while the values of one app are followed.
import type ts from 'typescript';
import type { Origin } from './origins.ts';
import type { Program } from './program.ts';
import type { FunctionNode } from './syntax.ts';

/**
 * `web`: (request, context). `node`: (request, response). `context`: one object with both. `event`: `event.request`.
 * `procedure`: `{ input, ctx }` of tRPC. `action`: any arguments, as pages call it.
 */
export type HandlerStyle = 'web' | 'node' | 'context' | 'event' | 'procedure' | 'action';

export interface Flow {
  readonly program: Program;
  /** How requests reach a function, for those that answer requests. */
  readonly handlers: Map<FunctionNode, HandlerStyle>;
  /** What was followed already. Cleared for every file, so that it does not keep the trees of others in memory. */
  readonly memo: Map<ts.Node, Map<string, readonly Origin[]>>;
  /** How many expressions may still be followed in this file. */
  readonly budget: { left: number };
  /** Where the value of an expression, or a part of it, comes from (values.ts). */
  originsOf(node: ts.Expression, path?: readonly string[]): readonly Origin[];
}
