// Reads a snapshot: finding the element that a ref refers to. Each line of the tree is indented and has the form
// `- button "Add" [disabled] [ref=e8]`.

import type { Target } from '../../../gateways/browser/session/types.ts';
import { unquote } from '../../../kit/text.ts';

export interface TreeElement {
  readonly role: string;
  readonly name: string;
}

/** Text on the page may look like a ref, so a ref is recognised only in the position where refs are written. */
const element = /^ *- ([\w-]+)(?: ("(?:[^"\\]|\\.)*"))?((?: \[[^\]"]*\])*)/;

/** Returns undefined if the tree does not contain the ref. */
export function findInTree(tree: string, ref: string): TreeElement | undefined {
  for (const line of tree.split('\n')) {
    const [, role = '', name, states = ''] = element.exec(line) ?? [];
    if (states.includes(`[ref=${ref}]`))
      return { role, name: name === undefined ? '' : (unquote(name) ?? name.slice(1, -1)) };
  }
  return undefined;
}

/** Makes a target that is identified only by its role and name. */
export const toTarget = ({ role, name }: TreeElement): Target => ({
  role,
  name,
  within: null,
  label: null,
  placeholder: null,
  text: null,
  test_id: null,
  is_destructive: true, // prevents a match on the role alone
});
