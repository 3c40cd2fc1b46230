// Recognises a code finding after its file has been edited (docs/internals/security-scans.md#fingerprints). Its
// identity consists of the surrounding names and the nearby tokens, without anything that a formatter changes.
import { createHash } from 'node:crypto';
import ts from 'typescript';
import { functionName } from './sources.ts';
import { isFunction, propertyName, statementsOf } from './syntax.ts';

/** The number of statements before and after the flagged statement that belong to its identity. */
const windowStatements = 3;

export interface Fingerprint {
  readonly identity: readonly string[];
  readonly secondary: string;
}

export function fingerprintOf(rule: string, node: ts.Node): Fingerprint {
  const symbols = symbolPath(node);
  const flagged = flaggedNode(node);
  return {
    identity: [symbols, hash(windowOf(flagged).flatMap(tokensOf))],
    secondary: hash([rule, symbols, ...tokensOf(flagged)]),
  };
}

const hash = (tokens: readonly string[]): string => createHash('sha256').update(tokens.join('\0')).digest('hex');

/**
 * A node's statement. In markup it is the opening tag, because the enclosing statement may be a whole page. For `if (a)
 * b();` it is `b();`, the same as with braces.
 */
function flaggedNode(node: ts.Node): ts.Node {
  for (let at = node; at.parent !== undefined; at = at.parent) {
    if (ts.isJsxOpeningLikeElement(at)) return at;
    if (ts.isStatement(at) && !ts.isBlock(at)) return at;
    if (ts.isArrowFunction(at.parent) && at.parent.body === at && !ts.isBlock(at)) return at;
  }
  return node;
}

/**
 * The flagged statement and its neighbours in the same list. At a file's top level and in markup, it has no neighbours.
 */
function windowOf(flagged: ts.Node): readonly ts.Node[] {
  const { parent } = flagged;
  const statements = parent === undefined || ts.isSourceFile(parent) ? undefined : statementsOf(parent);
  const at = statements?.indexOf(flagged as ts.Statement) ?? -1;
  if (statements === undefined || at < 0) return [flagged];
  return statements.slice(Math.max(0, at - windowStatements), at + windowStatements + 1);
}

/** The names of the functions, classes and constants around a node, outermost first, such as `Repository.find`. */
function symbolPath(node: ts.Node): string {
  const names: string[] = [];
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (isFunction(at)) names.unshift(functionName(at) ?? 'default');
    else if (ts.isClassLike(at)) names.unshift(at.name === undefined ? 'default' : at.name.text);
    else if (ts.isModuleDeclaration(at)) names.unshift(at.name.text);
    else if (ts.isPropertyDeclaration(at)) names.unshift(propertyName(at.name) ?? 'default');
  }
  return names.join('.');
}

/** A node's tokens, as independent of formatting as possible. */
function tokensOf(root: ts.Node): string[] {
  const source = root.getSourceFile();
  const tokens: string[] = [];
  const pending: ts.Node[] = [root];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const inner = normalised(node);
    if (inner !== node) {
      if (inner !== undefined) pending.push(inner);
      continue;
    }
    const literal = literalText(node);
    if (literal !== undefined) {
      if (literal !== '') tokens.push(literal);
      continue;
    }
    const children = childrenOf(node, source);
    if (children.length === 0) {
      const text = node.getText(source);
      if (text !== '') tokens.push(text);
    }
    for (let at = children.length - 1; at >= 0; at -= 1) {
      const child = children[at];
      if (child !== undefined) pending.push(child);
    }
  }
  return tokens;
}

/** Returns the node to use instead of this one, or `undefined` for syntax that a formatter adds or removes. */
function normalised(node: ts.Node): ts.Node | undefined {
  if (node.kind === ts.SyntaxKind.SemicolonToken || node.kind === ts.SyntaxKind.EndOfFileToken) return undefined;
  if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) return undefined;
  if (ts.isEmptyStatement(node)) return undefined;
  if (ts.isParenthesizedExpression(node) && isMarkup(node.expression)) return node.expression;
  if (ts.isBlock(node) && isBranch(node)) return node.statements[0] ?? node;
  return node;
}

const isMarkup = (node: ts.Node): boolean =>
  ts.isJsxElement(node) || ts.isJsxSelfClosingElement(node) || ts.isJsxFragment(node);

/** Whether a block only adds braces around a single statement, as in `if (a) { b(); }`. */
function isBranch(block: ts.Block): boolean {
  const { parent } = block;
  if (block.statements.length !== 1) return false;
  if (ts.isIfStatement(parent)) return parent.thenStatement === block || parent.elseStatement === block;
  return ts.isIterationStatement(parent, false) && parent.statement === block;
}

/** Normalises quotes, escapes and number formats. `undefined` if the node is not a literal. */
function literalText(node: ts.Node): string | undefined {
  if (ts.isJsxText(node)) return node.text.replace(/\s+/g, ' ').trim();
  if (ts.isStringLiteralLike(node)) {
    const isKey =
      ts.isPropertyAssignment(node.parent) && node.parent.name === node && /^[A-Za-z_$][\w$]*$/.test(node.text);
    return isKey ? node.text : `"${node.text}`;
  }
  return ts.isNumericLiteral(node) ? node.text : undefined;
}

function childrenOf(node: ts.Node, source: ts.SourceFile): readonly ts.Node[] {
  if (node.kind < ts.SyntaxKind.FirstNode && node.kind !== ts.SyntaxKind.SyntaxList) return [];
  const children = node.getChildren(source);
  if (node.kind === ts.SyntaxKind.SyntaxList && children.at(-1)?.kind === ts.SyntaxKind.CommaToken) {
    return children.slice(0, -1);
  }
  if (ts.isArrowFunction(node) && hasPlainParameter(node)) return children.filter((child) => !isParenthesis(child));
  return children;
}

/** Treats `(name) => …` and `name => …` as equal. */
function hasPlainParameter({ parameters, type, typeParameters }: ts.ArrowFunction): boolean {
  const [only, ...more] = parameters;
  if (only === undefined || more.length > 0 || type !== undefined || typeParameters !== undefined) return false;
  return ts.isIdentifier(only.name) && only.type === undefined && !only.initializer && !only.dotDotDotToken;
}

const isParenthesis = ({ kind }: ts.Node): boolean =>
  kind === ts.SyntaxKind.OpenParenToken || kind === ts.SyntaxKind.CloseParenToken;
