// Owns the 422 answer: `{detail: [{loc, msg, type}]}`, with faults in the order of the body that was sent
// (docs/api/conventions.md#validation-errors).
import type { z } from 'zod';

export interface Fault {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** More would not help a person, and a hostile body can have as many as it has bytes. */
const maxFaults = 100;

export class ValidationError extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super('the request is not valid for this operation');
    this.faults = faults.slice(0, maxFaults);
  }
}

type InputSource = 'body' | 'query' | 'path' | 'header';

/** Returns the parsed value or throws ValidationError. Every `loc` starts with `source`. */
export function parse<S extends z.ZodType>(
  schema: S,
  source: InputSource | readonly [InputSource, string],
  raw: unknown,
): z.output<S> {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  throw new ValidationError(toFaults(typeof source === 'string' ? [source] : source, raw, result.error.issues));
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
      faults.push({
        loc: [...source, ...path],
        msg: toMessage(node.issue, value),
        type: toFaultType(node.issue, value),
      });
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

/** The keys of a node in the order in which they were sent, then those that are missing. */
function listKeysInOrder({ children }: IssueNode, value: unknown): Iterable<PathKey> {
  if (children.size < 2 || typeof value !== 'object' || value === null) return children.keys();
  if (Array.isArray(value)) return [...children.keys()].sort((a, b) => Number(a) - Number(b));
  const sent = Object.keys(value).filter((key) => children.has(key));
  return [...sent, ...[...children.keys()].filter((key) => !Object.hasOwn(value, key))];
}

function toFaultType(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      if (value === undefined) return 'missing';
      if (value === null) return 'none_not_allowed';
      return toTypeFault(issue.expected, value);
    case 'too_small':
    case 'too_big':
      return toBoundFault(issue.code, issue.origin);
    case 'invalid_value':
      return value === undefined ? 'missing' : value === null ? 'none_not_allowed' : 'enum';
    case 'unrecognized_keys':
      return 'extra_forbidden';
    case 'invalid_format':
      return 'string_pattern_mismatch';
    case 'custom':
      return (issue.params?.type as string | undefined) ?? 'value_error';
    default:
      return 'value_error';
  }
}

function toTypeFault(expected: string, value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'finite_number';
  const names: Record<string, string> = {
    string: 'string_type',
    number: 'float_type',
    boolean: 'bool_type',
    array: 'list_type',
    object: 'dict_type',
    record: 'dict_type',
  };
  if (expected === 'int') return typeof value === 'number' ? 'int_from_float' : 'int_type';
  return names[expected] ?? 'value_error';
}

function toBoundFault(code: 'too_small' | 'too_big', origin: string): string {
  if (origin === 'int') return 'finite_number';
  if (origin === 'array') return code === 'too_small' ? 'too_short' : 'too_long';
  if (origin === 'string') return code === 'too_small' ? 'string_too_short' : 'string_too_long';
  return code === 'too_small' ? 'greater_than_equal' : 'less_than_equal';
}

/** Says what was expected, never what was received: that may be a secret. */
function toMessage(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'custom') return issue.message;
  if (issue.code === 'unrecognized_keys') return 'is not a field of this body';
  if (value === undefined) return 'is required';
  if (value === null) return 'must have a value';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeTexts[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'too_small':
      return toBoundMessage('at least', issue.minimum, issue.origin);
    case 'too_big':
      return toBoundMessage('at most', issue.maximum, issue.origin);
    default:
      return 'is not valid';
  }
}

/** `must be at least 3`; for lists and strings `must have at least 3 items`, `must have at least 1 character`. */
function toBoundMessage(limit: 'at least' | 'at most', bound: number | bigint, origin: string): string {
  const noun = countedNouns[origin];
  if (noun === undefined) return `must be ${limit} ${bound}`;
  return `must have ${limit} ${bound} ${noun}${Number(bound) === 1 ? '' : 's'}`;
}

/** What the bounds of a type count. */
const countedNouns: Record<string, string> = { array: 'item', string: 'character' };

const typeTexts: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function getMember(value: unknown, key: PathKey): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}
