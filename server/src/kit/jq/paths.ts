// Owns filters that only follow names, as `.order.id` and `$context.total`. Most filters do, and they need no jq, which takes
// milliseconds for each call. The result is the one that jq has; whatever is not that simple is left to jq.
import { maxBytes } from './evaluate.ts';

const name = '[A-Za-z_][A-Za-z0-9_]*';
const pathForm = new RegExp(`^\\s*(?:\\.|(\\$${name})?((?:\\.${name})+)|(\\$${name}))\\s*$`);

const maxBytesPerUnit = 3; // of UTF-8

/** `json` is `[input, variables]`, as it would be sent to jq. Returns undefined if jq is needed. */
export function followPaths(filters: readonly string[], json: string): unknown[] | undefined {
  const paths = filters.map(readPath);
  if (!paths.every((path) => path !== undefined)) return undefined;
  // Together the results must not be larger than jq's may be.
  if (json.length * filters.length > maxBytes / maxBytesPerUnit) return undefined;
  const [input, variables] = JSON.parse(json) as [unknown, Readonly<Record<string, unknown>>];
  const values = paths.map(({ variable, names }) => {
    if (variable === undefined) return follow(input, names);
    return Object.hasOwn(variables, variable) ? follow(variables[variable], names) : undefined;
  });
  return values.includes(undefined) ? undefined : values;
}

interface Path {
  /** Undefined: the path begins at the input. */
  readonly variable: string | undefined;
  readonly names: readonly string[];
}

function readPath(filter: string): Path | undefined {
  const match = pathForm.exec(filter);
  if (match === null) return undefined;
  const [, base, names = '', only] = match;
  return { variable: (base ?? only)?.slice(1), names: names.split('.').slice(1) };
}

/** A name that is missing is null, as everything in null is. Undefined: jq knows what to say. */
function follow(value: unknown, names: readonly string[]): unknown {
  let at = value;
  for (const name of names) {
    if (at === null) return null;
    if (typeof at !== 'object' || Array.isArray(at)) return undefined;
    at = Object.hasOwn(at, name) ? (at as Readonly<Record<string, unknown>>)[name] : null;
  }
  return at;
}
