// The workflow and the automation of the demo's task list. The workflow reports open tasks and has run once. The
// automation forwards new tasks. Both send requests to the sandbox's receiver.
import { setTimeout as sleep } from 'node:timers/promises';
import type { DemoRequest } from './request.ts';

/** `app` is the task list's path. A worker must be running. */
export async function addTaskWork(request: DemoRequest, app: string, receiverUrl: string): Promise<void> {
  const { id } = await request<{ id: string }>('POST', `${app}/workflows`, reportOf(receiverUrl));
  await request('POST', `${app}/automations`, newTasksTo(receiverUrl));
  for (const title of ['Water the plants', 'Repair the kettle'])
    await request('POST', `${app}/entities/Task`, { title });
  const { run_id } = await request<{ run_id: string }>('POST', `${app}/workflows/${id}/run-now`);
  const sees = <Body>(path: string, isDone: (body: Body) => boolean) => waitUntil(request, `${app}${path}`, isDone);
  await sees<{ status: string }>(`/workflows/${id}/runs/${run_id}`, ({ status }) => status === 'completed');
  await sees<{ items: { last_run_at: string | null }[] }>('/automations', ({ items }) => items[0]?.last_run_at != null);
}

const reportOf = (receiverUrl: string) => ({
  name: 'Report open tasks',
  description: 'Every morning, if there are any',
  trigger: { config: { trigger_type: 'scheduled', cron: '0 8 * * MON-FRI', timezone: 'UTC' } },
  definition: {
    document: { dsl: '1.0.0', namespace: 'app', name: 'report-open-tasks', version: '1.0.0' },
    do: [
      { load: { call: 'entity.list', with: { entity: 'Task', query: { done: false }, limit: 1_000 } } },
      { any: { switch: [{ none: { when: '${ length == 0 }', then: 'end' } }] } },
      { count: { set: { open: '${ length }', titles: '${ map(.title) }' } } },
      { send: { call: 'http', with: { method: 'post', endpoint: `${receiverUrl}/open-tasks`, body: '${ . }' } } },
    ],
  },
});

const newTasksTo = (receiverUrl: string) => ({
  name: 'New tasks',
  description: 'Whenever somebody creates a task',
  type: 'entity',
  entity_name: 'Task',
  event_types: ['create'],
  action: { type: 'http_request', url: `${receiverUrl}/new-tasks`, body: '{title: .data.title}' },
});

async function waitUntil<Body>(request: DemoRequest, url: string, isDone: (body: Body) => boolean): Promise<void> {
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; await sleep(250))
    if (isDone(await request<Body>('GET', url))) return;
  throw new Error(`demo data: the worker did not do its work within two minutes: ${url}`);
}
