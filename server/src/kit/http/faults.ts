// Owns the 422 answer: `{detail: [{loc, msg, type}]}`. In each object, first the fields that are missing, then the others
// in the order of the body that was sent (docs/api/conventions.md#validation-errors).
import type { z } from 'zod';
import { describeIssue } from '../issues.ts';

export interface Fault {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** More would not help a person, and a hostile body can have as many as it has bytes. */
const maxFaults = 100;

export class ValidationError extends Error {
  readonly faults: readonly Fault[];
  /** Fields without effect. The answer names them too: what is missing may have been misspelt. */
  readonly ignored: readonly string[];

  constructor(faults: readonly Fault[], ignored: readonly string[] = []) {
    super('the request is not valid for this operation');
    this.faults = faults.slice(0, maxFaults);
    this.ignored = ignored;
  }
}

type InputSource = 'body' | 'query' | 'path' | 'header';

/** Returns the parsed value or throws ValidationError, which names `ignored` too. Every `loc` starts with `source`. */
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
 * Returns the first faults in the order of the body that was sent. The work is linear in the size of the body: issues are
 * filed in a tree by their path, and the tree is read in the order of the body until there are enough faults.
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
  /** The first issue at this path. One value can violate two bounds (too large, and not a safe integer). */
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
  // One issue names all unknown keys of an object. Each becomes a fault.
  else for (const key of issue.keys) getOrAddChild(node, key).issue ??= issue;
}

/** The keys that are missing, because a misspelt field is found by what it lacks; then the others in the order sent. */
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
