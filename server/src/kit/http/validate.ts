// Owns the validation of a request's query and body against the operation's schemas: all faults at once, as a 422.
import { z } from 'zod';
import { createCleaner, readJson } from './body.ts';
import type { Exchange } from './exchange.ts';
import { type Fault, parse, ValidationError } from './faults.ts';
import type { Operation } from './operation.ts';

export interface Input {
  readonly query: unknown;
  readonly body: unknown;
  /** The body as it was sent, before fields without effect were removed. */
  readonly rawBody: unknown;
  /** Fields and parameters without effect. The answer names them in `X-Ignored-Fields`. */
  readonly ignored: readonly string[];
}

/** `guardQuery`: query parameters that the guard reads, and that the operation's own schema therefore lacks. */
export function createValidator(operation: Operation, guardQuery: readonly string[]): (exchange: Exchange) => Input {
  const { query, body } = operation;
  const cleanBody = body && createCleaner(body);
  // An open query is checked by the operation, and a strict one refuses what it doesn't know.
  const ignoresUnknownQuery = !(query instanceof z.ZodObject && query.def.catchall !== undefined);
  const knownQuery = new Set([...guardQuery, ...(query instanceof z.ZodObject ? Object.keys(query.shape) : [])]);
  return (exchange) => {
    const ignored = ignoresUnknownQuery ? Object.keys(exchange.rawQuery).filter((name) => !knownQuery.has(name)) : [];
    const rawBody = body && readBody(exchange, body);
    const [parsedQuery, parsedBody] = collectFaults(
      () => query && parse(query, 'query', omit(exchange.rawQuery, guardQuery)),
      () => body && cleanBody && parse(body, 'body', cleanBody(rawBody, ignored, '')),
      ignored,
    );
    return { query: parsedQuery, body: parsedBody, rawBody, ignored };
  };
}

const omit = (query: Exchange['rawQuery'], names: readonly string[]): Exchange['rawQuery'] =>
  names.some((name) => name in query)
    ? Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)))
    : query;

/** Runs both, and throws the faults of both together, with the fields that were ignored meanwhile. */
function collectFaults<A, B>(first: () => A, second: () => B, ignored: readonly string[]): readonly [A, B] {
  const a = attempt(first);
  const b = attempt(second);
  if ('faults' in a || 'faults' in b) {
    throw new ValidationError([...('faults' in a ? a.faults : []), ...('faults' in b ? b.faults : [])], ignored);
  }
  return [a.value, b.value];
}

function attempt<T>(work: () => T): { readonly value: T } | { readonly faults: readonly Fault[] } {
  try {
    return { value: work() };
  } catch (error) {
    if (error instanceof ValidationError) return { faults: error.faults };
    throw error;
  }
}

/** A missing body reads as `{}` if every field is optional. */
function readBody(exchange: Exchange, schema: z.ZodType): unknown {
  const json = readJson(exchange.rawBody);
  return json === undefined && schema.safeParse({}).success ? {} : json;
}
