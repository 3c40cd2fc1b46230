// The parts of a string and their origins, and whether the text before a part already fixes the URL's host.
import ts from 'typescript';
import type { Flow } from './flow.ts';
import { fixedHost, hostOnly } from './known.ts';
import { asParts, makeSafe, type Origin, uses } from './origins.ts';
import { declarationOf, importedNode } from './program.ts';
import { dottedName, isTemplatePiece, partsOf, textOf, unwrap } from './syntax.ts';

/** The origins of a string's parts. A part that follows the host can't change where a URL points. */
export function followParts(flow: Flow, parts: readonly ts.Expression[]): readonly Origin[] {
  let before: string | undefined = '';
  const origins: Origin[] = [];
  for (const part of parts) {
    const text = isTemplatePiece(part) ? part.text : (textOf(part) ?? constantText(flow, part));
    const found = text === undefined ? flow.originsOf(part) : [];
    const isHostFixed =
      before === undefined || fixedHost.test(before) || (hostOnly.test(before) && beginsWithSlash(part));
    const fixed = isHostFixed ? uses.address | uses.redirect | uses.cors : 0;
    origins.push(...makeSafe(asParts(found), fixed));
    // An unknown prefix that no caller can set is treated as a base URL.
    if (before !== undefined) before = text !== undefined ? before + text : found.length === 0 ? undefined : before;
    if (text === undefined && before === '' && found.length > 0) before = '\n';
  }
  return origins;
}

/** A URL's path starts with a slash, so it can't become part of the host before it. */
function beginsWithSlash(node: ts.Expression): boolean {
  const bare = unwrap(node);
  if (!ts.isPropertyAccessExpression(bare)) return false;
  if (/^(pathname|search|hash|originalUrl)$/.test(bare.name.text)) return true;
  return /^(path|url)$/.test(bare.name.text) && /(^|\.)(req|request)$/.test(dottedName(bare.expression));
}

/** The string value of a constant, which is a literal or a name with a single value. */
function constantText(flow: Flow, node: ts.Expression, depth = 0): string | undefined {
  const bare = unwrap(node);
  const text = textOf(bare);
  if (text !== undefined || depth > 4) return text;
  if (ts.isIdentifier(bare)) {
    const declaration = declarationOf(flow.program, bare);
    const [only, ...more] = declaration?.definitions ?? [];
    if (only !== undefined && more.length === 0 && only.path.length === 0 && only.kind === 'set') {
      return constantText(flow, only.value, depth + 1);
    }
    const exported = declaration === undefined ? undefined : importedNode(flow.program, declaration);
    return exported !== undefined && ts.isExpression(exported) ? constantText(flow, exported, depth + 1) : undefined;
  }
  const parts = partsOf(bare);
  if (parts === undefined) return undefined;
  const texts = parts.map((part) => (isTemplatePiece(part) ? part.text : constantText(flow, part, depth + 1)));
  return texts.every((each) => each !== undefined) ? texts.join('') : undefined;
}
