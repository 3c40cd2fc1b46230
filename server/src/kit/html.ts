// Traverses a parsed page: its elements, their attributes, and its inline scripts.
import type { DefaultTreeAdapterTypes } from 'parse5';

export type Element = DefaultTreeAdapterTypes.Element;

/** Yields elements in document order. Uses an explicit stack, because a page may be nested too deeply for recursion. */
export function* listElements(document: DefaultTreeAdapterTypes.Document, inTemplates = true): Generator<Element> {
  const waiting: DefaultTreeAdapterTypes.ChildNode[] = document.childNodes.toReversed();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!('attrs' in node)) continue;
    yield node;
    for (const child of node.childNodes.toReversed()) waiting.push(child);
    if (inTemplates && 'content' in node) for (const child of node.content.childNodes.toReversed()) waiting.push(child);
  }
}

export const getAttribute = ({ attrs }: Element, name: string): string | undefined =>
  attrs.find((attribute) => attribute.name === name)?.value;

/** The script types that browsers run. */
export const scriptTypes: ReadonlySet<string> = new Set(['', 'module', 'text/javascript', 'application/javascript']);

export interface InlineScript {
  readonly script: string;
  readonly type: string;
  readonly line: number;
}

/** Lists inline scripts of any type, including JSON. */
export function listInlineScripts(elements: readonly Element[]): InlineScript[] {
  const found: InlineScript[] = [];
  for (const element of elements) {
    if (element.nodeName !== 'script' || getAttribute(element, 'src') !== undefined) continue;
    const [content] = element.childNodes;
    if (content === undefined || !('value' in content)) continue;
    const type = getAttribute(element, 'type')?.trim().toLowerCase() ?? '';
    found.push({ script: content.value, type, line: content.sourceCodeLocation?.startLine ?? 1 });
  }
  return found;
}
