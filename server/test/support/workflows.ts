// Helpers for workflow tests: a World, and functions that create and run an app's workflows.
import { expect } from 'vitest';
import type { World } from './world.ts';
import { startWorld, type WorldOptions } from './world.ts';

type Tasks = readonly Readonly<Record<string, object>>[];

/** Builds a definition with these tasks. */
export const define = (tasks: Tasks, name = 'test') => ({
  document: { dsl: '1.0.0', namespace: 'app', name, version: '1.0.0' },
  do: tasks,
});

/** A definition whose runs end immediately, with their input as output. */
export const passOn = define([{ pass: { set: '${ . }' } }]);

/** Builds a `switch` case. */
export const goTo = (task: string, when?: string) =>
  Object.fromEntries([...(when ? [['when', when]] : []), ['then', task]]);

export const manual = { config: { trigger_type: 'manual' } };
export const onEntity = (entity_name: string, event_types: string[], condition?: string) => ({
  config: { trigger_type: 'entity', entity_name, event_types },
  ...(condition !== undefined && { condition }),
});

export async function startWorkflowWorld(options: WorldOptions = {}) {
  const world = await startWorld(options);
  const owner = await world.person('owner@example.com');
  const workspace = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const token = await world.token(owner, workspace);
  return { world, owner, workspace, token, ...createScene(world, token), newApp: () => world.appOf(owner, workspace) };
}

export function createScene(world: World, token: string) {
  const pathOf = (app: { id: string }, rest = '') => `/api/apps/${app.id}/workflows${rest}`;
  const send = (method: string, app: { id: string }, rest = '', body?: object, headers = {}) =>
    world.call(method, pathOf(app, rest), { as: token, ...(body && { body }), headers });
  /** Creates the entity if it does not exist. */
  const defineEntity = async (app: { id: string }, name: string) => {
    const path = `/api/apps/${app.id}/entity-schemas/${name}`;
    if ((await world.call('GET', path, { as: token })).status !== 404) return;
    const got = await world.call('PUT', path, { as: token, body: { name, properties: {} } });
    expect(got.status, JSON.stringify(got.body)).toBe(200);
  };
  let names = 0;
  /** Creates a workflow and returns it. Expects success. Also creates the entity that its trigger names. */
  const create = async (app: { id: string }, more: { trigger?: object; [field: string]: unknown } = {}) => {
    names += 1;
    const config = more.trigger && 'config' in more.trigger ? (more.trigger.config as Record<string, unknown>) : {};
    if (typeof config.entity_name === 'string') await defineEntity(app, config.entity_name);
    const body = { name: `Workflow ${names}`, definition: passOn, trigger: manual, ...more };
    const got = await send('POST', app, '', body);
    expect(got.status, JSON.stringify(got.body)).toBe(200);
    return got.body;
  };
  const get = async (app: { id: string }, id: string) => (await send('GET', app, `/${id}`)).body;
  const listRuns = async (app: { id: string }, query = '') => (await send('GET', app, `/runs${query}`)).body.items;
  const getRun = async (app: { id: string }, workflow: string, run: string) =>
    (await send('GET', app, `/${workflow}/runs/${run}`)).body;
  /** Starts a run manually and waits until it has ended. */
  const runToEnd = async (app: { id: string }, workflow: string, body: object = {}) => {
    const started = await send('POST', app, `/${workflow}/run-now`, body);
    expect(started.status, JSON.stringify(started.body)).toBe(200);
    const { run_id } = started.body;
    await expect.poll(async () => (await getRun(app, workflow, run_id)).completed_at).not.toBeNull();
    return getRun(app, workflow, run_id);
  };
  return { pathOf, send, defineEntity, create, get, listRuns, getRun, runToEnd };
}
