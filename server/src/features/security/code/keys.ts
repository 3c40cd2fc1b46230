// The keys that identify names, such as a function's `next`, `body.url` or `params.get(next)`. Checking a key
// checks every value that passed through that name.
import ts from 'typescript';
import { declarationOf, type Program } from './program.ts';
import type { Declaration } from './scopes.ts';
import { calledName, dottedName, methodName, partsOf, receiverOf, textOf, unwrap } from './syntax.ts';

export const keyOf = ({ id, node }: Declaration, path: readonly string[]): string =>
  `${node.getSourceFile().fileName}#${id}:${path.join('.')}`;

/** Returns `get(next)` for `params.get('next')`, so different parameters have different keys. */
export function methodKey(call: ts.CallExpression, method: string): string {
  return `${method}(${textOf(call.arguments[0]) ?? ''})`;
}

/** Parts of a URL, and variants of a string. Checking one of these checks the whole value. */
const partsOfWhole = /^(hostname|host|origin|protocol|href|pathname|length|value|name)$/;
const formsOfText =
  /^(trim|trimStart|trimEnd|toLowerCase|toUpperCase|toString|normalize|replace|replaceAll|split|slice|substring|at|pop|shift|match|replace|charAt)$/;
const convertingFunctions =
  /(^|\.)(String|Number|parseInt|decodeURIComponent|encodeURI|URL|resolve|join|normalize|relative|extname|dirname|basename|realpath|realpathSync|parse|canParse)$/;

/** An expression's keys, including the keys of the constants that it comes from. */
export function keysOf(program: Program, node: ts.Expression, path: readonly string[] = [], depth = 0): string[] {
  const bare = unwrap(node);
  if (depth > 8) return [];
  const next = (inner: ts.Expression, innerPath = path) => keysOf(program, inner, innerPath, depth + 1);
  if (ts.isIdentifier(bare)) {
    const declaration = declarationOf(program, bare);
    if (declaration === undefined) return [];
    const sets = declaration.definitions.filter(({ kind, target }) => kind === 'set' && target.length === 0);
    return [
      keyOf(declaration, path),
      ...sets.slice(0, 4).flatMap((definition) => next(definition.value, [...definition.path, ...path])),
    ];
  }
  if (ts.isPropertyAccessExpression(bare)) {
    const keys = next(bare.expression, [bare.name.text, ...path]);
    return partsOfWhole.test(bare.name.text) ? [...keys, ...next(bare.expression)] : keys;
  }
  if (ts.isElementAccessExpression(bare)) {
    const name = textOf(bare.argumentExpression);
    const isNumber = ts.isNumericLiteral(bare.argumentExpression);
    return isNumber ? next(bare.expression) : next(bare.expression, [name ?? '*', ...path]);
  }
  if (ts.isCallExpression(bare)) {
    const method = methodName(bare);
    const receiver = receiverOf(bare);
    const name = dottedName(bare.expression);
    if (convertingFunctions.test(name) && bare.arguments.length > 0) return bare.arguments.flatMap((arg) => next(arg));
    if (method === undefined || receiver === undefined) {
      return bare.arguments.length === 1 && bare.arguments[0] !== undefined ? next(bare.arguments[0], []) : [];
    }
    return formsOfText.test(method) ? next(receiver, []) : next(receiver, [methodKey(bare, method), ...path]);
  }
  if (ts.isNewExpression(bare) && /^(URL|Date|String)$/.test(calledName(bare))) {
    return (bare.arguments ?? []).slice(0, 1).flatMap((arg) => next(arg, []));
  }
  if (ts.isBinaryExpression(bare) && isAlternative(bare)) return [...next(bare.left), ...next(bare.right)];
  return (partsOf(bare) ?? []).flatMap((part) => (ts.isIdentifier(part) ? next(part, []) : []));
}

const isAlternative = ({ operatorToken: { kind } }: ts.BinaryExpression): boolean =>
  kind === ts.SyntaxKind.BarBarToken || kind === ts.SyntaxKind.QuestionQuestionToken;
