// Small helpers for the syntax tree: names, literals, functions, statements. Nothing here traces values.
import ts from 'typescript';

export type FunctionNode = ts.FunctionLikeDeclaration & { readonly body: ts.ConciseBody };

export function isFunction(node: ts.Node): node is FunctionNode {
  return (
    (ts.isFunctionDeclaration(node) ||
      ts.isFunctionExpression(node) ||
      ts.isArrowFunction(node) ||
      ts.isMethodDeclaration(node) ||
      ts.isConstructorDeclaration(node) ||
      ts.isGetAccessorDeclaration(node) ||
      ts.isSetAccessorDeclaration(node)) &&
    node.body !== undefined
  );
}

/** Removes wrappers that do not change the value: parentheses, `await`, `as`, `satisfies`, `!`. */
export function unwrap(node: ts.Expression): ts.Expression {
  let at = node;
  while (
    ts.isParenthesizedExpression(at) ||
    ts.isAwaitExpression(at) ||
    ts.isAsExpression(at) ||
    ts.isSatisfiesExpression(at) ||
    ts.isNonNullExpression(at) ||
    ts.isTypeAssertionExpression(at)
  ) {
    at = at.expression;
  }
  return at;
}

/**
 * Calls `visit` for the node and all nodes below it, without recursion, because deep trees must not exhaust the stack.
 * If `visit` returns false, the node's children are skipped.
 */
export function walk(root: ts.Node, visit: (node: ts.Node) => boolean | undefined): void {
  const pending: ts.Node[] = [root];
  const push = (child: ts.Node): void => {
    pending.push(child);
  };
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (visit(node) === false) continue;
    const from = pending.length;
    ts.forEachChild(node, push);
    reverseFrom(pending, from);
  }
}

/** Children are pushed in order, so they are reversed here to pop the first child first. */
function reverseFrom(nodes: ts.Node[], from: number): void {
  for (let low = from, high = nodes.length - 1; low < high; low += 1, high -= 1) {
    const [a, b] = [nodes[low], nodes[high]];
    if (a === undefined || b === undefined) return;
    nodes[low] = b;
    nodes[high] = a;
  }
}

const nodesOfFiles = new WeakMap<ts.SourceFile, readonly ts.Node[]>();

/** A file's nodes, in order. They are listed only once, because a file is examined many times. */
export function nodesOf(source: ts.SourceFile): readonly ts.Node[] {
  const known = nodesOfFiles.get(source);
  if (known !== undefined) return known;
  const nodes: ts.Node[] = [];
  walk(source, (node) => {
    nodes.push(node);
    return true;
  });
  nodesOfFiles.set(source, nodes);
  return nodes;
}

/** Visits a function's nodes, except those of nested functions. */
export function walkOwn(fn: ts.Node, visit: (node: ts.Node) => boolean | undefined): void {
  walk(fn, (node) => (node !== fn && isFunction(node) ? false : visit(node)));
}

export function findNode<Found extends ts.Node>(
  root: ts.Node,
  is: (node: ts.Node) => node is Found,
): Found | undefined {
  let found: Found | undefined;
  walk(root, (node) => {
    if (found === undefined && is(node)) found = node;
    return found === undefined;
  });
  return found;
}

/** Returns `a.b.c` for a chain of names, including `a?.["b"]` and `this`. Parts that are not names become `?`. */
export function dottedName(node: ts.Expression): string {
  const parts: string[] = [];
  let at = unwrap(node);
  for (let depth = 0; depth < 32; depth += 1) {
    if (ts.isPropertyAccessExpression(at)) parts.push(at.name.text);
    else if (ts.isElementAccessExpression(at)) parts.push(textOf(at.argumentExpression) ?? '?');
    else break;
    at = unwrap(at.expression);
  }
  parts.push(rootName(at));
  return parts.reverse().join('.');
}

function rootName(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  if (node.kind === ts.SyntaxKind.ThisKeyword) return 'this';
  if (ts.isMetaProperty(node)) return 'import.meta';
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) return `${dottedName(node.expression)}()`;
  return '?';
}

/** The text of a string literal, or of a template without inserted values. */
export function textOf(node: ts.Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  const bare = ts.isExpression(node) ? unwrap(node) : node;
  return ts.isStringLiteralLike(bare) ? bare.text : undefined;
}

export function propertyName(name: ts.PropertyName | ts.BindingName | undefined): string | undefined {
  if (name === undefined) return undefined;
  if (ts.isIdentifier(name) || ts.isStringLiteralLike(name) || ts.isNumericLiteral(name)) return name.text;
  if (ts.isPrivateIdentifier(name)) return name.text;
  if (ts.isComputedPropertyName(name)) return textOf(name.expression);
  return undefined;
}

/** The value of a property in an object literal. Names are compared in lower case. */
export function propertyOf(node: ts.Node | undefined, name: string): ts.Expression | undefined {
  if (node === undefined || !ts.isExpression(node)) return undefined;
  const object = unwrap(node);
  if (!ts.isObjectLiteralExpression(object)) return undefined;
  for (const property of object.properties) {
    if (propertyName(property.name)?.toLowerCase() !== name.toLowerCase()) continue;
    if (ts.isPropertyAssignment(property)) return property.initializer;
    if (ts.isShorthandPropertyAssignment(property)) return property.name;
  }
  return undefined;
}

export function methodName(call: ts.CallExpression): string | undefined {
  const callee = unwrap(call.expression);
  if (ts.isPropertyAccessExpression(callee)) return callee.name.text;
  if (ts.isElementAccessExpression(callee)) return textOf(callee.argumentExpression);
  return undefined;
}

/** The object that a method is called on. */
export function receiverOf(call: ts.CallExpression): ts.Expression | undefined {
  const callee = unwrap(call.expression);
  return ts.isPropertyAccessExpression(callee) || ts.isElementAccessExpression(callee) ? callee.expression : undefined;
}

/** The last part of the called name, such as `b` for `a.b()` and `f` for `f()`. */
export function calledName(call: ts.CallExpression | ts.NewExpression): string {
  return dottedName(call.expression).split('.').at(-1) ?? '';
}

export function enclosingFunction(node: ts.Node): FunctionNode | undefined {
  for (let at = node.parent; at !== undefined; at = at.parent) if (isFunction(at)) return at;
  return undefined;
}

export function isInside(node: ts.Node, outer: ts.Node): boolean {
  for (let at: ts.Node | undefined = node; at !== undefined; at = at.parent) if (at === outer) return true;
  return false;
}

/** The statement that contains a node, or the expression body of an arrow function. */
export function statementOf(node: ts.Node): ts.Node {
  let at = node;
  while (at.parent !== undefined) {
    if (isListedStatement(at)) return at;
    if (ts.isArrowFunction(at.parent) && at.parent.body === at) return at;
    at = at.parent;
  }
  return at;
}

/** Whether a node is in the statement list of a block, a file or a case. */
function isListedStatement(node: ts.Node): boolean {
  const { parent } = node;
  if (parent === undefined || statementsOf(parent) === undefined) return false;
  return !(ts.isCaseClause(parent) && parent.expression === node);
}

export function statementsOf(node: ts.Node): ts.NodeArray<ts.Statement> | undefined {
  if (ts.isBlock(node) || ts.isSourceFile(node) || ts.isModuleBlock(node) || ts.isCaseOrDefaultClause(node)) {
    return node.statements;
  }
  return undefined;
}

/** Functions from the platform and from frameworks that throw or exit. */
const neverReturns =
  /^((process|Deno)\.exit|(ctx|context)\.throw|redirect|permanentRedirect|notFound|unauthorized|forbidden)$/;

/** Whether execution never continues past this statement. */
export function alwaysExits(node: ts.Statement): boolean {
  if (ts.isReturnStatement(node) || ts.isThrowStatement(node)) return true;
  if (ts.isContinueStatement(node) || ts.isBreakStatement(node)) return true;
  if (ts.isBlock(node)) return node.statements.some(alwaysExits);
  if (ts.isIfStatement(node)) {
    return node.elseStatement !== undefined && alwaysExits(node.thenStatement) && alwaysExits(node.elseStatement);
  }
  if (ts.isExpressionStatement(node)) {
    const call = unwrap(node.expression);
    return ts.isCallExpression(call) && neverReturns.test(dottedName(call.expression));
  }
  return false;
}

/** The expressions that a function may return, including the body of an arrow function without braces. */
export function returnsOf(fn: FunctionNode): readonly ts.Expression[] {
  if (!ts.isBlock(fn.body)) return [fn.body];
  const returned: ts.Expression[] = [];
  walkOwn(fn, (node) => {
    if (ts.isReturnStatement(node) && node.expression !== undefined) returned.push(node.expression);
    return returned.length < 50;
  });
  return returned;
}

export function lineOf(node: ts.Node): number {
  const file = node.getSourceFile();
  return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
}

export function endLineOf(node: ts.Node): number {
  return node.getSourceFile().getLineAndCharacterOfPosition(node.getEnd()).line + 1;
}

/** The parts of a template or of `a + b`. `undefined` for any other expression. */
export function partsOf(node: ts.Expression): readonly ts.Expression[] | undefined {
  if (ts.isTemplateExpression(node)) {
    return [node.head, ...node.templateSpans.flatMap((span) => [span.expression, span.literal])].filter(isPart);
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) return addends(node);
  return undefined;
}

// The head, middle and tail of a template are typed as tokens, but are treated as literals here.
function isPart(node: ts.Node): node is ts.Expression {
  return !isTemplatePiece(node) || node.text !== '';
}

export function isTemplatePiece(node: ts.Node): node is ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail {
  return ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
}

function addends(node: ts.BinaryExpression): ts.Expression[] {
  const parts: ts.Expression[] = [];
  let at: ts.Expression = node;
  while (ts.isBinaryExpression(at) && at.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    parts.push(at.right);
    at = unwrap(at.left);
  }
  return [...parts, at].reverse();
}
