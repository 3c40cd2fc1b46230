// Makes every operation fail, without and with an Idempotency-Key, and compares `retry_safe` with what
// docs/api/operations.yaml declares (`repeat`). Guards and validation are left out, so every handler is reached.
import { beforeEach, describe, expect, it } from 'vitest';
import { open, writeCredentials } from '../../src/core/auth/credentials.ts';
import { anyone } from '../../src/core/auth/guards/visitor.ts';
import { self } from '../../src/core/auth/guards/workspace.ts';
import { Answer } from '../../src/kit/http/answer.ts';
import { newId } from '../../src/kit/ids.ts';
import { Problem } from '../../src/kit/problem.ts';
import { startWorld } from '../support/world.ts';
import { type Registered, register } from './register.ts';
import { fillPath, guardsPassed, insertHook } from './stub-handlers.ts';

const refuse = () => {
  throw new Problem('conflict', guardsPassed, 'The guards let this request through.');
};

/** Each way to fail, and whether the request may have taken effect. */
const failures = {
  'a bug': {
    mayHaveEffect: true,
    handle: () => {
      throw new Error('a bug');
    },
  },
  'a refusal before anything is committed': { mayHaveEffect: false, handle: refuse },
  'a refusal after the commit': {
    mayHaveEffect: true,
    handle: () => new Answer({}, {}, 200, undefined, async () => refuse()),
  },
} as const;
type Failure = keyof typeof failures;
let failure: Failure = 'a bug';

/** The guard of a hook is kept, because the token in its path is its caller. */
const isHook = ({ path }: { readonly path: string }) => path.includes('{hook_token}');

const world = await startWorld({
  routes: (routes) =>
    routes.map((route) => ({
      ...route,
      credentials: route.credentials === open ? open : writeCredentials,
      access: isHook(route) ? route.access : route.credentials === open ? anyone : self,
      limit: isHook(route) ? route.limit : ('unlimited' as const),
      bytes: undefined,
      plan: undefined,
      query: undefined,
      body: undefined,
      precheck: undefined,
      stores: undefined,
      handle: () => failures[failure].handle(),
    })),
});
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const as = await world.token(owner, workspace);
const hook_token = await insertHook(world, await world.appOf(owner, workspace));
beforeEach(() => world.resetRateLimits());

const call = ({ method, path, isOpen }: Registered, key?: string) =>
  world.call(method, fillPath(path, { hook_token }), {
    ...(!isOpen && { as }),
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });

/** A caller without a credential can't use keys. */
const honoursKey = (entry: Registered) => entry.idempotency !== 'none' && (!entry.isOpen || isHook(entry));

describe.each(Object.keys(failures) as Failure[])('after %s', (kind) => {
  it.each(register.map((entry) => [entry.name, entry] as const))('%s says whether to repeat it', async (_, entry) => {
    failure = kind;
    const { mayHaveEffect } = failures[kind];
    const isSafe = entry.repeat === 'safe' || !mayHaveEffect;
    const expected = (retry_safe: boolean) => ({ status: kind === 'a bug' ? 500 : 409, body: { retry_safe } });
    if (entry.idempotency !== 'required') expect(await call(entry)).toMatchObject(expected(isSafe));
    expect(await call(entry, newId())).toMatchObject(expected(isSafe || honoursKey(entry)));
  });
});

it('a key belongs to `key` and to nothing else that changes something', () => {
  const keyed = register.filter(({ repeat }) => repeat === 'key');
  expect(keyed.filter((entry) => !honoursKey(entry)).map(({ name }) => name)).toEqual([]);
  const looked = register.filter(({ repeat }) => repeat === 'look');
  expect(looked.filter(honoursKey).map(({ name }) => name)).toEqual([]);
});
