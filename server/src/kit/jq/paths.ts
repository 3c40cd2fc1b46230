// Filters that only follow names, such as `.order.id` and `$context.total`. Most filters are of this kind, and
// evaluating them here saves a jq call, which takes milliseconds. The result is the same as jq's. All other filters are
// left to jq.
import { maxBytes } from './evaluate.ts';

const name = '[A-Za-z_][A-Za-z0-9_]*';
const pathForm = new RegExp(`^\\s*(?:\\.|(\\$${name})?((?:\\.${name})+)|(\\$${name}))\\s*$`);

const maxBytesPerUnit = 3; // in UTF-8

/** `json` is `[input, variables]`, as it would be sent to jq. Returns undefined if the filters need jq. */
export function followPaths(filters: readonly string[], json: string): unknown[] | undefined {
  const paths = filters.map(readPath);
  if (!paths.every((path) => path !== undefined)) return undefined;
  // The combined results must not exceed the limit on the size of jq's results.
  if (json.length * filters.length > maxBytes / maxBytesPerUnit) return undefined;
  const [input, variables] = JSON.parse(json) as [unknown, Readonly<Record<string, unknown>>];
  const values = paths.map(({ variable, names }) => {
    if (variable === undefined) return follow(input, names);
    return Object.hasOwn(variables, variable) ? follow(variables[variable], names) : undefined;
  });
  return values.includes(undefined) ? undefined : values;
}

interface Path {
  /** Undefined if the path starts at the input. */
  readonly variable: string | undefined;
  readonly names: readonly string[];
}

function readPath(filter: string): Path | undefined {
  const match = pathForm.exec(filter);
  if (match === null) return undefined;
  const [, base, names = '', only] = match;
  return { variable: (base ?? only)?.slice(1), names: names.split('.').slice(1) };
}

/**
 * The value of a missing name is null, and so is the value of any name in null. Returns undefined if jq would report an
 * error.
 */
function follow(value: unknown, names: readonly string[]): unknown {
  let at = value;
  for (const name of names) {
    if (at === null) return null;
    if (typeof at !== 'object' || Array.isArray(at)) return undefined;
    at = Object.hasOwn(at, name) ? (at as Readonly<Record<string, unknown>>)[name] : null;
  }
  return at;
}
