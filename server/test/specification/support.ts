// The helpers that the tests of the specification share: credentials, the shape of a refusal, and rate limits.
import { expect } from 'vitest';
import type { CallResult } from '../support/client.ts';
import type { Person, World } from '../support/world.ts';

/** Matches an ISO 8601 time in UTC, with or without the suffix `Z`. */
export const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?$/);
export const text = expect.any(String);
export const integer = expect.toSatisfy((value) => Number.isInteger(value), 'is an integer');

/** Matches null and what `matcher` matches. */
export const orNull = (matcher: object) =>
  expect.toSatisfy((value) => value === null || isEqual(value, matcher), 'is null or matches');

const isEqual = (value: unknown, matcher: object): boolean =>
  'asymmetricMatch' in matcher && (matcher.asymmetricMatch as (value: unknown) => boolean)(value);

/** Creates a personal API key. Returns the header to send. */
export async function personalKey(
  world: World,
  person: Person,
  permission: 'read_only' | 'full_access' = 'full_access',
): Promise<{ api_key: string }> {
  const { token } = await world.credential({
    kind: 'personal_key',
    user_id: person.id,
    workspace_id: null,
    permission,
  });
  return { api_key: token };
}

/** Creates a workspace API key with every scope. */
export async function workspaceKey(world: World, workspace_id: string): Promise<string> {
  const scopes = [
    'apps:read',
    'apps:write',
    'apps:deploy',
    'schemas:write',
    'security:read',
    'security:scan',
    'usage:read',
    'audit:read',
  ];
  const key = { kind: 'workspace_key', user_id: null, workspace_id, permission: 'full_access', scopes } as const;
  return (await world.credential(key)).token;
}

/** Expects a 422 for this field, in the shape that the specification gives. */
export function expectInvalid(got: CallResult, ...loc: (string | number)[]): void {
  expect(got.status, got.text).toBe(422);
  expect(got.body.detail).toContainEqual(expect.objectContaining({ loc, msg: text, type: text }));
}

export function expectOk(got: CallResult): CallResult['body'] {
  expect(got.status, got.text).toBe(200);
  return got.body;
}

/** Expects that `send` is accepted `limit` times in a minute, and refused with 429 after that. */
export async function expectLimit(world: World, limit: number, send: () => Promise<CallResult>): Promise<void> {
  await world.resetRateLimits();
  expect((await send()).status).not.toBe(429);
  await world.addToRateLimits(limit - 2);
  expect((await send()).status, `request ${limit}`).not.toBe(429);
  expect((await send()).status, `request ${limit + 1}`).toBe(429);
}

/** Gives the workspace limits of its own, as an operator can. */
export const overrideLimits = async (world: World, workspace: string, rate_multiplier: number | null) =>
  void (await world.db.updateTable('workspaces').set({ rate_multiplier }).where('id', '=', workspace).execute());
