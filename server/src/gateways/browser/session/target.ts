// Describes an element by its visible features and its surroundings, so it can be found again.
import { unquote } from '../../../kit/text.ts';
import type { ElementDetails } from './in-page.ts';
import type { TreeNode } from './tree.ts';
import type { Target } from './types.ts';

/** Roles of repeated items, whose contents belong only to that item. */
const itemRoles = new Set(['row', 'listitem', 'article', 'treeitem']);
const partRoles = new Set(['dialog', 'alertdialog', 'form', 'search', 'region', 'navigation', 'main', 'table', 'list']);

const maxTextLength = 120;

const destructiveWords =
  /\b(?:delete|remove|destroy|discard|erase|empty|reset|revoke|deactivate|unsubscribe|pay|buy|purchase|order|check ?out|transfer|refund|log ?out|sign ?out|löschen|entfernen|bezahlen|kaufen|bestellen|supprimer|payer|acheter|eliminar|borrar|pagar|comprar)\b/i;

/** `path` contains the element and all its ancestors, from the outside in. */
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

/** Includes the dialog, because "Yes" in a dialog named "Delete the draft?" also deletes. */
function findDestructiveWord({ name, text, within }: Pick<Target, 'name' | 'text' | 'within'>): string | undefined {
  const dialog = /^(?:alert)?dialog /.test(within ?? '') ? within : null;
  for (const each of [name, text, dialog]) {
    const word = destructiveWords.exec(each ?? '')?.[0];
    if (word !== undefined) return word.toLowerCase();
  }
  return undefined;
}

/**
 * An element found in place of the recorded one must not be more harmful. For example, a button that deletes must not
 * replace one that adds or pays.
 */
export const isNoWorse = (found: Target, recorded: Target): boolean =>
  !found.is_destructive || findDestructiveWord(found) === findDestructiveWord(recorded);

function shorten(text: string | null): string | null {
  const line = (text ?? '').replaceAll(/\s+/g, ' ').trim();
  return line === '' || line.length > maxTextLength ? null : line;
}

/**
 * The nearest part of the page that can be identified. Examples: `form "Sign in"`, `main`, or `row "Milk"` if no other
 * row has the text "Milk".
 */
function describeContainer(path: readonly TreeNode[]): string | null {
  const element = path.at(-1);
  for (let at = path.length - 2; at >= 0; at -= 1) {
    const container = path[at];
    if (container === undefined || element === undefined) return null;
    if (container.role === 'iframe') return null; // everything outside an iframe belongs to another page
    if (partRoles.has(container.role)) return renderContainer(container.role, nameOfPart(container));
    if (!itemRoles.has(container.role)) continue;
    const siblings = (path[at - 1]?.children ?? []).filter((each) => typeof each !== 'string' && each !== container);
    const key = findKey(container, element, siblings);
    if (key !== undefined) return renderContainer(container.role, key);
  }
  return null;
}

/** Ignores names with numbers, such as order numbers, because they differ in the next run. */
function nameOfPart({ name = '' }: TreeNode): string | null {
  return /\d\d/.test(name) ? null : shorten(name);
}

const renderContainer = (role: string, name: string | null): string =>
  name === null ? role : `${role} ${JSON.stringify(name)}`;

export interface Container {
  readonly role: string;
  readonly name: string | null;
  /**
   * True if `name` is a text inside the container rather than its name. Elements outside the container do not match.
   */
  readonly isItem: boolean;
}

export function parseContainer(text: string | null): Container | undefined {
  const [, role, quoted] = /^([a-z]+)(?: (".*"))?$/s.exec(text ?? '') ?? [];
  if (role === undefined) return undefined;
  // A name that is not in our quoted form comes from an external recording.
  const name = quoted === undefined ? null : (unquote(quoted) ?? quoted);
  return { role, name, isItem: itemRoles.has(role) };
}

/**
 * The first text in an item that its siblings do not contain. Texts without letters are skipped, because numbers and
 * times change from run to run.
 */
function findKey(item: TreeNode, element: TreeNode, siblings: readonly (TreeNode | string)[]): string | undefined {
  const others = new Set(siblings.flatMap((sibling) => listTexts(sibling, undefined)));
  return listTexts(item, element).find((text) => /\p{L}/u.test(text) && !others.has(text));
}

/** The texts in a part of the page, excluding those in `except` and the names of controls. */
function listTexts(node: TreeNode | string, except: TreeNode | undefined): string[] {
  if (typeof node === 'string') return [shorten(node) ?? ''].filter(Boolean);
  if (node === except || controlRoles.has(node.role)) return [];
  const below = (node.children ?? []).flatMap((child) => listTexts(child, except));
  return [...(node.text === undefined ? [] : [shorten(node.text) ?? '']), ...below].filter(Boolean);
}

const controlRoles = new Set(['button', 'checkbox', 'radio', 'switch', 'textbox', 'combobox', 'spinbutton', 'slider']);
