// The 422 response: `{detail: [{loc, msg, type}], code, request_id}`. For each object, missing fields come first,
// followed by the others in request body order (docs/api/conventions.md#validation-errors).
import type { z } from 'zod';
import { describeIssue } from '../issues.ts';

export interface Fault {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** More faults would not help anyone, and a hostile body can cause one for each of its bytes. */
const maxFaults = 100;

export class ValidationError extends Error {
  readonly faults: readonly Fault[];
  /** Fields that had no effect. The response lists them too, because a field reported as missing may be misspelt. */
  readonly ignored: readonly string[];

  constructor(faults: readonly Fault[], ignored: readonly string[] = []) {
    super('the request is not valid for this operation');
    this.faults = faults.slice(0, maxFaults);
    this.ignored = ignored;
  }
}

type InputSource = 'body' | 'query' | 'path' | 'header';

/**
 * Returns the parsed value, or throws a ValidationError that also names `ignored`. Every `loc` starts with `source`.
 */
export function parse<S extends z.ZodType>(
  schema: S,
  source: InputSource | readonly [InputSource, string],
  raw: unknown,
  ignored: readonly string[] = [],
): z.output<S> {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  const faults = toFaults(typeof source === 'string' ? [source] : source, raw, result.error.issues);
  throw new ValidationError(faults, ignored);
}

/**
 * Returns the first faults, in request body order. The cost is linear in the size of the body: issues are put into a
 * tree by path, and the tree is traversed in body order until there are enough faults.
 */
function toFaults(source: readonly string[], raw: unknown, issues: readonly z.core.$ZodIssue[]): Fault[] {
  const root = createNode();
  for (const issue of issues) fileIssue(root, issue);
  const faults: Fault[] = [];
  const visit = (node: IssueNode, value: unknown, path: readonly PathKey[]): void => {
    if (node.issue !== undefined) {
      const { msg, type } = describeIssue(node.issue, value, source[0]);
      faults.push({ loc: [...source, ...path], msg, type });
    }
    for (const key of listKeysInOrder(node, value)) {
      if (faults.length >= maxFaults) return;
      const child = node.children.get(key);
      if (child !== undefined) visit(child, getMember(value, key), [...path, key]);
    }
  };
  visit(root, raw, []);
  return faults;
}

type PathKey = string | number;

interface IssueNode {
  /** The first issue at this path. A value can violate two bounds, such as a maximum and the safe integer range. */
  issue?: z.core.$ZodIssue;
  readonly children: Map<PathKey, IssueNode>;
}

const createNode = (): IssueNode => ({ children: new Map() });

function getOrAddChild(node: IssueNode, key: PathKey): IssueNode {
  const child = node.children.get(key) ?? createNode();
  node.children.set(key, child);
  return child;
}

function fileIssue(root: IssueNode, issue: z.core.$ZodIssue): void {
  let node = root;
  for (const key of issue.path) node = getOrAddChild(node, typeof key === 'symbol' ? String(key) : key);
  if (issue.code !== 'unrecognized_keys') node.issue ??= issue;
  // One issue lists all of an object's unknown keys. Each key becomes a separate fault.
  else for (const key of issue.keys) getOrAddChild(node, key).issue ??= issue;
}

/** Lists missing keys first, because they reveal misspelt fields, followed by the other keys in body order. */
function listKeysInOrder({ children }: IssueNode, value: unknown): Iterable<PathKey> {
  if (children.size < 2 || typeof value !== 'object' || value === null) return children.keys();
  if (Array.isArray(value)) return [...children.keys()].sort((a, b) => Number(a) - Number(b));
  const missing = [...children.keys()].filter((key) => !Object.hasOwn(value, key));
  return [...missing, ...Object.keys(value).filter((key) => children.has(key))];
}

function getMember(value: unknown, key: PathKey): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}
