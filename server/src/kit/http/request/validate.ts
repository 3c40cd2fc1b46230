// Validates a request's query and body against the operation's schemas. All faults are reported together in a
// 422.
import { z } from 'zod';
import type { Exchange } from '../exchange.ts';
import { type Fault, parse, ValidationError } from '../faults.ts';
import type { Operation } from '../operation.ts';
import { createCleaner, readJson } from './body.ts';

export interface Input {
  readonly query: unknown;
  readonly body: unknown;
  /** The body as received, including fields that have no effect. */
  readonly rawBody: unknown;
  /** Fields and parameters that have no effect. The response lists them in `X-Ignored-Fields`. */
  readonly ignored: readonly string[];
}

/** `guardQuery` lists the query parameters that the guard reads. The operation's own schema does not contain them. */
export function createValidator(operation: Operation, guardQuery: readonly string[]): (exchange: Exchange) => Input {
  const { query, body } = operation;
  const cleanBody = body && createCleaner(body);
  // An open query is checked by the operation itself, and a strict query rejects unknown parameters.
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

/** Runs both functions. If either fails, throws the faults from both, with the ignored fields. */
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

/** A missing body counts as `{}` if every field is optional. */
function readBody(exchange: Exchange, schema: z.ZodType): unknown {
  const json = readJson(exchange.rawBody);
  return json === undefined && schema.safeParse({}).success ? {} : json;
}
