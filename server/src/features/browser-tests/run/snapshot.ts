// Owns reading a snapshot: which element a ref stands for. A line of the tree is `- button "Add" [disabled] [ref=e8]`, indented.

import type { Target } from '../../../gateways/browser/session/types.ts';
import { unquote } from '../../../kit/text.ts';

export interface TreeElement {
  readonly role: string;
  readonly name: string;
}

/** What a page writes may look like a ref: only what stands where refs stand is one. */
const element = /^ *- ([\w-]+)(?: ("(?:[^"\\]|\\.)*"))?((?: \[[^\]"]*\])*)/;

/** Undefined if the tree has no such ref. */
export function findInTree(tree: string, ref: string): TreeElement | undefined {
  for (const line of tree.split('\n')) {
    const [, role = '', name, states = ''] = element.exec(line) ?? [];
    if (states.includes(`[ref=${ref}]`))
      return { role, name: name === undefined ? '' : (unquote(name) ?? name.slice(1, -1)) };
  }
  return undefined;
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
