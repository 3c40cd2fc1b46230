// Tests that no request uses CPU time out of proportion to its size. Each distinct body schema is validated at three
// sizes up to the largest body that its operation accepts, with the worst bodies that the schema allows. Operations
// whose work depends on the body's content run end to end. The same check must detect a planted quadratic algorithm.
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AppDeps, createApp } from '../../src/app.ts';
import { perMinute } from '../../src/core/auth/limits.ts';
import type { Route } from '../../src/core/auth/route.ts';
import { createShares } from '../../src/kit/db/shares.ts';
import { inlineRefs, toJsonSchema } from '../../src/kit/http/json-schema.ts';
import type { Operation } from '../../src/kit/http/operation.ts';
import { createServer } from '../../src/kit/http/server.ts';
import { body, list } from '../../src/kit/http/shapes.ts';
import { newId } from '../../src/kit/ids.ts';
import { createLog } from '../../src/kit/log.ts';
import { withOwnTurns } from '../support/own-turns.ts';
import { startWorld } from '../support/world.ts';
import { findExcess, formatPoints, listWorstBodies, measureGrowth, type Point, sizesUpTo } from './growth.ts';
import { type Call, prepareOperations } from './growth-operations.ts';
import { fillPath, stubHandlers } from './stub-handlers.ts';

const world = await startWorld();
const measured: string[] = [];
const maxTries = 3; // repeated because a busy machine can make a measurement longer

async function expectLinear(what: string, sizes: readonly number[], work: (size: number) => Promise<unknown>) {
  let points: Point[] = [];
  for (let tries = 0; tries < maxTries; tries += 1) {
    points = await measureGrowth(sizes, work);
    if (findExcess(points) === undefined) break;
  }
  measured.push(`${what.padEnd(50)}${formatPoints(points)}`);
  expect(findExcess(points), what).toBeUndefined();
}

describe('the body', () => {
  const expectLinearBody = async (operation: Operation) => {
    const server = serveWithoutHandler(operation);
    const maxBytes = operation.bodyLimitBytes ?? 1024 * 1024;
    const schema = inlineRefs(toJsonSchema(operation.body as z.ZodType, 'input'));
    for (const [kind, write] of Object.entries(listWorstBodies(schema, maxBytes))) {
      const bodies = new Map(
        sizesUpTo(maxBytes)
          .map(write)
          .filter((text) => text.length <= maxBytes) // some bodies cannot be written at exactly this length
          .map((text) => [text.length, text]),
      );
      await expectLinear(`${operation.name}, ${kind}`, [...bodies.keys()], async (size) => {
        const answer = await server.inject({
          method: operation.method as 'POST',
          url: fillPath(operation.path, {}),
          headers: { 'content-type': 'application/json' },
          payload: bodies.get(size),
        });
        expect([409, 422], answer.payload).toContain(answer.statusCode);
        expect(answer.payload, 'the body was refused before it was validated').not.toContain('json_invalid');
      });
    }
    await server.close();
  };

  it.each(listDistinctBodies(world.app.routes))('of %s is validated in time linear in its size', (_name, route) =>
    expectLinearBody(route),
  );

  it('is found to take too long if each of its items is compared with all others', async () => {
    const [[, route]] = listDistinctBodies(world.app.routes) as [[string, Route]];
    const isEachFound = (all: readonly string[]) =>
      all.every((item) => all.filter((other) => other === item).length > 0);
    const planted = {
      ...route,
      name: 'planted',
      bodyLimitBytes: 256 * 1024,
      body: body({ items: list(z.string(), 0, 1e6).refine(isEachFound) }),
    };
    await expect(expectLinearBody(planted)).rejects.toThrow('times the size took');
    measured.pop();
  });
});

/** Returns the first route for each combination of body schema and size limit. */
function listDistinctBodies(routes: readonly Route[]): [string, Route][] {
  const distinct = new Map<string, Route>();
  for (const route of routes) {
    if (route.body === undefined) continue;
    const key = JSON.stringify([route.bodyLimitBytes, toJsonSchema(route.body, 'input')]);
    if (!distinct.has(key)) distinct.set(key, route);
  }
  return [...distinct.values()].map((route) => [route.name, route]);
}

/** A server that accepts every caller and gives each its own workspace, so no request waits for its turn. */
function serveWithoutHandler(operation: Operation) {
  const routes = stubHandlers?.([{ ...(operation as Route), idempotency: undefined }]) ?? [];
  return createServer(routes, {
    db: world.app.database.db,
    reservedDb: world.app.database.db,
    shares: createShares(8),
    clock: world.clock,
    guard: async (exchange) => {
      exchange.actor = { id: 'caller', workspaceId: newId(), appId: null, isOutsider: false, appIds: '', lookup: {} };
    },
    looksUpCaller: () => true,
    nameKnownCaller: () => undefined,
    isWorkerSeen: async () => true,
    guardQuery: () => [],
    isHttps: false,
    trustedProxies: [],
    maxConnectionsPerAddress: 100,
    strictAnswers: false,
  });
}

/** The real routes without rate limits and byte budgets. */
const withoutLimits: AppDeps['routes'] = (routes) =>
  withOwnTurns(routes.map((route) => ({ ...route, limit: perMinute(1e9, 'caller'), bytes: undefined })));

const app = createApp(
  { ...world.config, STRICT_ANSWERS: false },
  { clock: world.clock, log: createLog('silent'), migrations: [], routes: withoutLimits },
);
afterAll(() => app.close());
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);

const call: Call = async (method, path, sent, headers) => {
  const answer = await app.server.inject({
    method: method as 'POST',
    url: path,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    payload: sent === undefined ? undefined : JSON.stringify(sent),
  });
  return { status: answer.statusCode, body: answer.payload };
};

const operations = await prepareOperations(call, `/api/apps/${(await world.appOf(owner, workspace)).id}`);

describe('an operation', () => {
  it.each(Object.entries(operations))('takes time linear in its size: %s', async (what, { largest, status, run }) => {
    await expectLinear(what, sizesUpTo(largest), async (size) => {
      const answer = await run(size);
      expect(answer.status, answer.body.slice(0, 500)).toBe(status);
    });
  });
});

afterAll(() => {
  if (process.env.GROWTH_TABLE) console.log(measured.join('\n'));
});
