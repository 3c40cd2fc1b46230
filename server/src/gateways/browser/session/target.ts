// Owns describing an element so that it can be found again: by what a person sees of it and around it.
import { unquote } from '../../../kit/text.ts';
import type { ElementDetails } from './in-page.ts';
import type { TreeNode } from './tree.ts';
import type { Target } from './types.ts';

/** One of many of its kind: what is in it belongs to this one only. */
const itemRoles = new Set(['row', 'listitem', 'article', 'treeitem']);
const partRoles = new Set(['dialog', 'alertdialog', 'form', 'search', 'region', 'navigation', 'main', 'table', 'list']);

const maxTextLength = 120;

const destructiveWords =
  /\b(?:delete|remove|destroy|discard|erase|empty|reset|revoke|deactivate|unsubscribe|pay|buy|purchase|order|check ?out|transfer|refund|log ?out|sign ?out|löschen|entfernen|bezahlen|kaufen|bestellen|supprimer|payer|acheter|eliminar|borrar|pagar|comprar)\b/i;

/** `path`: the element, and everything that it is in, from the outside in. */
export function describeTarget(path: readonly TreeNode[], details: ElementDetails): Target {
  const node = path.at(-1);
  const name = shorten(node?.name ?? '') ?? '';
  const within = describeContainer(path);
  return {
    role: node?.role ?? 'generic',
    name,
    within,
    label: shorten(details.label),
    placeholder: shorten(details.placeholder),
    text: shorten(details.text),
    test_id: shorten(details.test_id),
    is_destructive: findDestructiveWord({ name, text: details.text, within }) !== undefined,
  };
}

/** In a dialog "Delete the draft?", also "Yes" deletes. */
function findDestructiveWord({ name, text, within }: Pick<Target, 'name' | 'text' | 'within'>): string | undefined {
  const dialog = /^(?:alert)?dialog /.test(within ?? '') ? within : null;
  for (const each of [name, text, dialog]) {
    const word = destructiveWords.exec(each ?? '')?.[0];
    if (word !== undefined) return word.toLowerCase();
  }
  return undefined;
}

/** What is found in place of a recorded element must not do more harm: neither delete in place of adding, nor of paying. */
export const isNoWorse = (found: Target, recorded: Target): boolean =>
  !found.is_destructive || findDestructiveWord(found) === findDestructiveWord(recorded);

function shorten(text: string | null): string | null {
  const line = (text ?? '').replaceAll(/\s+/g, ' ').trim();
  return line === '' || line.length > maxTextLength ? null : line;
}

/**
 * The nearest part of the page that can be told from others: `row "Milk"` for a button in the row of a table in which only this
 * row says "Milk", or `form "Sign in"`, or `main`.
 */
function describeContainer(path: readonly TreeNode[]): string | null {
  const element = path.at(-1);
  for (let at = path.length - 2; at >= 0; at -= 1) {
    const container = path[at];
    if (container === undefined || element === undefined) return null;
    if (container.role === 'iframe') return null; // what is outside of it is another page
    if (partRoles.has(container.role)) return renderContainer(container.role, nameOfPart(container));
    if (!itemRoles.has(container.role)) continue;
    const siblings = (path[at - 1]?.children ?? []).filter((each) => typeof each !== 'string' && each !== container);
    const key = findKey(container, element, siblings);
    if (key !== undefined) return renderContainer(container.role, key);
  }
  return null;
}

/** A number, such as that of an order, is another one in the next run. */
function nameOfPart({ name = '' }: TreeNode): string | null {
  return /\d\d/.test(name) ? null : shorten(name);
}

const renderContainer = (role: string, name: string | null): string =>
  name === null ? role : `${role} ${JSON.stringify(name)}`;

export interface Container {
  readonly role: string;
  readonly name: string | null;
  /** `name` is a text in it, not its name, and elements outside of it are other elements. */
  readonly isItem: boolean;
}

export function parseContainer(text: string | null): Container | undefined {
  const [, role, quoted] = /^([a-z]+)(?: (".*"))?$/s.exec(text ?? '') ?? [];
  if (role === undefined) return undefined;
  // What is not quoted as we do comes from a recording of somebody else.
  const name = quoted === undefined ? null : (unquote(quoted) ?? quoted);
  return { role, name, isItem: itemRoles.has(role) };
}

/** The first text of an item that the items beside it do not have. Numbers and times change from run to run. */
function findKey(item: TreeNode, element: TreeNode, siblings: readonly (TreeNode | string)[]): string | undefined {
  const others = new Set(siblings.flatMap((sibling) => listTexts(sibling, undefined)));
  return listTexts(item, element).find((text) => /\p{L}/u.test(text) && !others.has(text));
}

/** The texts of a part of the page, without those of `except`, and without the names of controls. */
function listTexts(node: TreeNode | string, except: TreeNode | undefined): string[] {
  if (typeof node === 'string') return [shorten(node) ?? ''].filter(Boolean);
  if (node === except || controlRoles.has(node.role)) return [];
  const below = (node.children ?? []).flatMap((child) => listTexts(child, except));
  return [...(node.text === undefined ? [] : [shorten(node.text) ?? '']), ...below].filter(Boolean);
}

const controlRoles = new Set(['button', 'checkbox', 'radio', 'switch', 'textbox', 'combobox', 'spinbutton', 'slider']);
