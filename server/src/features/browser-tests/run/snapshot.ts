// Owns reading a snapshot: which element a ref stands for. A line of the tree is `- button "Add" [ref=e8]`, indented, and as a
// whole in single quotes if it contains what YAML would misread.
import type { Target } from '../../../gateways/browser/session/types.ts';

export interface TreeElement {
  readonly role: string;
  readonly name: string;
}

/** Undefined if the tree has no such ref. */
export function findInTree(tree: string, ref: string): TreeElement | undefined {
  const line = tree.split('\n').find((each) => each.includes(`[ref=${ref}]`));
  if (line === undefined) return undefined;
  const [, quote, rest = ''] = /^\s*- ('?)(.*)$/.exec(line) ?? [];
  const text = quote === "'" ? rest.replaceAll("''", "'") : rest;
  const [, role = 'element', name] = /^([\w-]+)(?: ("(?:[^"\\]|\\.)*"))?/.exec(text) ?? [];
  return { role, name: name === undefined ? '' : unquote(name) };
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1);
  }
}

/** An element that is known by its role and name only. */
export const toTarget = ({ role, name }: TreeElement): Target => ({
  role,
  name,
  within: null,
  label: null,
  placeholder: null,
  text: null,
  test_id: null,
  is_destructive: true, // never found as the only one of its role
});
