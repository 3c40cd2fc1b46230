// The vocabulary for tracing values: where a value comes from, and which uses of it were made safe on the way.
import type ts from 'typescript';
import type { FunctionNode } from './syntax.ts';

/** Kinds of use that can be dangerous. A value that is safe for one use may be dangerous for another. */
export const uses = {
  sql: 1,
  command: 2,
  code: 4,
  nosql: 8,
  html: 16,
  address: 32,
  redirect: 64,
  path: 128,
  cors: 256,
  key: 512,
} as const;
export type Use = keyof typeof uses;
export const allUses = 1023;

/**
 * `request` is sent by the function's caller. `location` is the page's URL. `message` is sent by another window.
 * `stored` comes from records, other servers or input fields, so other users may have written it. `secret` is a secret
 * from the environment. `parameter` is unknown until the function is called.
 */
export type Label = 'request' | 'location' | 'message' | 'stored' | 'secret' | 'parameter';

export interface Parameter {
  readonly fn: FunctionNode;
  readonly index: number;
  readonly path: readonly string[];
}

export interface Origin {
  readonly label: Label;
  readonly parameter?: Parameter;
  /** The bits of `uses` for which the value was made safe. */
  readonly safeFor: number;
  /** The keys of the names that the value passed through. Checking any of these names checks the value. */
  readonly trail: readonly string[];
  /** Whether the value is only part of a longer string. */
  readonly isPart: boolean;
  /** The expression where the value originates. */
  readonly at: ts.Node;
}

export const originOf = (label: Label, at: ts.Node): Origin => ({ label, safeFor: 0, trail: [], isPart: false, at });

const maxOrigins = 24;

/** Removes duplicate origins. Beyond a limit, more origins add no information, so only the least safe are kept. */
export function mergeOrigins(origins: readonly Origin[]): readonly Origin[] {
  if (origins.length < 2) return origins;
  const byKey = new Map<string, Origin>();
  for (const origin of origins) {
    const { label, parameter, at } = origin;
    const place =
      parameter === undefined ? at.pos : `${parameter.fn.pos}.${parameter.index}.${parameter.path.join('.')}`;
    const key = `${label} ${place} ${origin.safeFor} ${origin.isPart}`;
    if (!byKey.has(key)) byKey.set(key, origin);
  }
  const merged = [...byKey.values()];
  if (merged.length <= maxOrigins) return merged;
  return merged.toSorted((a, b) => a.safeFor - b.safeFor).slice(0, maxOrigins);
}

export const makeSafe = (origins: readonly Origin[], bits: number): readonly Origin[] =>
  bits === 0 ? origins : origins.map((origin) => ({ ...origin, safeFor: origin.safeFor | bits }));

export const asParts = (origins: readonly Origin[]): readonly Origin[] =>
  origins.map((origin) => (origin.isPart ? origin : { ...origin, isPart: true }));

export const withKey = (origins: readonly Origin[], key: string): readonly Origin[] =>
  origins.map((origin) =>
    origin.trail.includes(key) || origin.trail.length > 40 ? origin : { ...origin, trail: [...origin.trail, key] },
  );
