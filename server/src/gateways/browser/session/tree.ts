// A page's accessibility tree: its text for a model, and an element's position in it.
import { z } from 'zod';

export interface TreeNode {
  readonly role: string;
  readonly name?: string | undefined;
  /** The text of an element that contains only text, or a field's value. */
  readonly text?: string | undefined;
  readonly ref?: string | undefined;
  readonly url?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly children?: readonly (TreeNode | string)[] | undefined;
  readonly checked?: boolean | 'mixed' | undefined;
  readonly pressed?: boolean | 'mixed' | undefined;
  readonly disabled?: boolean | undefined;
  readonly expanded?: boolean | undefined;
  readonly selected?: boolean | undefined;
  readonly invalid?: boolean | string | undefined;
  readonly level?: number | undefined;
  readonly cursor?: string | undefined;
}

const flag = z.union([z.boolean(), z.string()]).optional();
const state = z.union([z.boolean(), z.literal('mixed')]).optional();

const Node: z.ZodType<TreeNode> = z.object({
  role: z.string(),
  name: z.string().optional(),
  text: z.string().optional(),
  ref: z.string().optional(),
  url: z.string().optional(),
  placeholder: z.string().optional(),
  children: z.array(z.union([z.lazy(() => Node), z.string()])).optional(),
  checked: state,
  pressed: state,
  disabled: z.boolean().optional(),
  expanded: z.boolean().optional(),
  selected: z.boolean().optional(),
  invalid: flag,
  level: z.number().optional(),
  cursor: z.string().optional(),
});

export const readTree = (json: unknown): TreeNode[] => z.array(Node).parse(json);

const maxTextLength = 300;
const cutLine = '- text: … the rest of the page is not shown';

/** Writes one line per element, indented by depth: `- button "Add" [ref=e8] [disabled]`. */
export function renderTree(nodes: readonly TreeNode[], maxLength: number): string {
  const lines: string[] = [];
  let length = 0;

  /** Returns false if there is no more room. */
  function push(depth: number, text: string): boolean {
    const line = `${'  '.repeat(Math.min(depth, 20))}- ${text}`;
    length += line.length + 1;
    if (length > maxLength - cutLine.length) return false;
    lines.push(line);
    return true;
  }

  function visit(node: TreeNode | string, depth: number): boolean {
    if (typeof node === 'string') return push(depth, `text: ${shorten(node)}`);
    const { text, children = [] } = node;
    if (node.role === 'text') return push(depth, `text: ${shorten(text ?? '')}`);
    const line = describeNode(node) + (text === undefined ? '' : `: ${shorten(text)}`);
    return push(depth, line) && children.every((child) => visit(child, depth + 1));
  }

  const isComplete = nodes.every((node) => visit(node, 0));
  return [...lines, ...(isComplete ? [] : [cutLine])].join('\n');
}

const shorten = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > maxTextLength ? `${line.slice(0, maxTextLength)}…` : line;
};

function describeNode(node: TreeNode): string {
  const states = (['checked', 'pressed', 'disabled', 'expanded', 'selected', 'invalid'] as const).flatMap((name) => {
    const value = node[name];
    return value === undefined || value === false ? [] : [value === true ? `[${name}]` : `[${name}=${value}]`];
  });
  return [
    node.role,
    ...(node.name ? [JSON.stringify(shorten(node.name))] : []),
    ...states,
    ...(node.level === undefined ? [] : [`[level=${node.level}]`]),
    ...(node.ref === undefined ? [] : [`[ref=${node.ref}]`]),
    ...(node.cursor === 'pointer' ? ['[clickable]'] : []),
    ...(node.placeholder === undefined ? [] : [`[placeholder=${JSON.stringify(shorten(node.placeholder))}]`]),
    ...(node.url === undefined ? [] : [`[url=${shorten(node.url).slice(0, 100)}]`]),
  ].join(' ');
}

/** The element with this ref, and all its ancestors, from the outside in. Empty if there is no such ref. */
export function findPath(nodes: readonly (TreeNode | string)[], ref: string): TreeNode[] {
  for (const node of nodes) {
    if (typeof node === 'string') continue;
    if (node.ref === ref) return [node];
    const below = findPath(node.children ?? [], ref);
    if (below.length > 0) return [node, ...below];
  }
  return [];
}

/** All elements with this role and name, in page order. */
export function findNodes(nodes: readonly (TreeNode | string)[], role: string, name: string): TreeNode[] {
  return nodes.flatMap((node) => {
    if (typeof node === 'string') return [];
    const below = findNodes(node.children ?? [], role, name);
    return node.role === role && (node.name ?? '') === name ? [node, ...below] : below;
  });
}
