// The definition of a sink: an expression whose value can do harm, the kind of use, and the origins that count.
import ts from 'typescript';
import type { Flow } from './flow.ts';
import type { FunctionIssue } from './item.ts';
import { type Label, uses } from './origins.ts';
import { constantInitialiserOf, declarationOf, findCallees, type Module } from './program.ts';
import type { CodeRuleId } from './rules.ts';
import { requiredModule } from './scopes.ts';
import { dottedName, methodName, propertyOf, receiverOf, returnsOf, unwrap } from './syntax.ts';

export interface Sink {
  readonly rule: CodeRuleId | FunctionIssue;
  readonly use: number;
  readonly value: ts.Expression;
  readonly path: readonly string[];
  /** The node to report. Usually, its statement is shown. */
  readonly at: ts.Node;
  readonly labels: readonly Label[];
  /** Whether the value must be part of a longer string. On its own, it would be a plain value rather than SQL. */
  readonly onlyParts?: boolean;
}

const fromCaller: readonly Label[] = ['request'];

export const fromStranger: readonly Label[] = ['request', 'location', 'message'];

export const fromAnybody: readonly Label[] = ['request', 'location', 'message', 'stored'];

export interface SinkContext {
  readonly flow: Flow;
  readonly module: Module;
  /** Whether the module runs on the server: either it handles requests, or it is in a backend folder. */
  readonly isBackend: boolean;
}

export type Details = Partial<Omit<Sink, 'rule' | 'value'>>;

export function sink(
  rule: Sink['rule'],
  use: keyof typeof uses,
  value: ts.Expression | undefined,
  more: Details = {},
): Sink[] {
  if (value === undefined) return [];
  return [{ rule, use: uses[use], value, path: [], at: value, labels: fromCaller, ...more }];
}

/** The name of the called function, with aliases resolved. After `const run = eval`, `run` becomes `eval`. */
export function globalName(flow: Flow, callee: ts.Expression): string {
  let at = unwrap(callee);
  if (ts.isBinaryExpression(at) && at.operatorToken.kind === ts.SyntaxKind.CommaToken) at = unwrap(at.right);
  for (let depth = 0; depth < 4 && ts.isIdentifier(at); depth += 1) {
    const declaration = declarationOf(flow.program, at);
    if (declaration?.imported !== undefined) {
      const { specifier, name } = declaration.imported;
      return name === '*' || name === 'default' ? `${moduleName(specifier)}` : `${moduleName(specifier)}.${name}`;
    }
    const [only, ...more] = declaration?.definitions ?? [];
    if (only === undefined || more.length > 0) break;
    if (only.path.length > 0) return `${globalName(flow, only.value)}.${only.path.join('.')}`;
    const value = unwrap(only.value);
    if (ts.isCallExpression(value) && /promisify$/.test(dottedName(value.expression)) && value.arguments[0]) {
      at = unwrap(value.arguments[0]);
    } else if (ts.isIdentifier(value) || ts.isPropertyAccessExpression(value)) at = value;
    else break;
  }
  const required = ts.isCallExpression(at) ? requiredModule(at) : undefined;
  if (required !== undefined) return moduleName(required);
  if (ts.isPropertyAccessExpression(at)) {
    // The function is a property, as in `const http = { send: fetch }`.
    const property = propertyOf(constantInitialiserOf(flow.program, at.expression), at.name.text);
    if (property !== undefined && ts.isIdentifier(property) && property.text !== at.name.text)
      return globalName(flow, property);
    return `${globalName(flow, at.expression)}.${at.name.text}`;
  }
  return dottedName(at);
}

/** Returns `child_process` for `node:child_process`, and `got` for `npm:got@1` and `https://esm.sh/got@1`. */
function moduleName(specifier: string): string {
  return specifier
    .replace(/^(node:|npm:|jsr:|https?:\/\/(esm\.sh|deno\.land\/x|cdn\.skypack\.dev|unpkg\.com)\/)/, '')
    .replace(/(?<=.)@[\d^~].*$/, '')
    .replace(/^fs\/promises$/, 'fs');
}

/** The source code of the parts that a string is built from, including constants and function results. */
export function writtenTexts(flow: Flow, node: ts.Expression, depth = 0): readonly string[] {
  const bare = unwrap(node);
  if (depth > 3) return [];
  if (ts.isIdentifier(bare)) {
    const definitions = declarationOf(flow.program, bare)?.definitions ?? [];
    return definitions.slice(0, 12).flatMap(({ value }) => writtenTexts(flow, value, depth + 1));
  }
  if (ts.isCallExpression(bare)) {
    const receiver = methodName(bare) === 'join' ? receiverOf(bare) : undefined;
    if (receiver !== undefined) return writtenTexts(flow, receiver, depth + 1);
    const returned = findCallees(flow.program, bare).slice(0, 2).flatMap(returnsOf);
    if (returned.length > 0) return returned.flatMap((each) => writtenTexts(flow, each, depth + 1));
  }
  return [bare.getText().slice(0, 4_000)];
}
