// The demo data. Apps, including a shop and a task list, a coding session, folders and an agent are created
// through the API. The 250 people are inserted in bulk.
import type { Db } from '../../tables.ts';
import { type DemoGitHost, launchDemoSession } from './coding-session.ts';
import { insertDemoPeople } from './people.ts';
import type { DemoRequest } from './request.ts';
import { createShop } from './shop.ts';
import { buildTaskList } from './task-list.ts';

const apps = ['Shop front', 'Booking desk', 'Field notes', 'Price watch', 'Team board', 'Recipe box'];

export interface DemoOptions {
  /**
   * The address to which the demo's webhook, workflow and automation send requests. If undefined, they are not created.
   * If set, a worker must be running.
   */
  readonly receiverUrl?: string | undefined;
  /** Whether the sandbox's model is used, which can build an app. If true, a worker must be running. */
  readonly hasSandboxModel?: boolean;
  /** The sandbox's git host. Without it, or without the sandbox's model, the demo has no coding session. */
  readonly gitHost?: DemoGitHost | undefined;
}

export async function createDemoData(
  db: Db,
  request: DemoRequest,
  { receiverUrl, hasSandboxModel = false, gitHost }: DemoOptions,
  now: Date,
): Promise<void> {
  const post = (url: string, payload: object) => request<{ id: string }>('POST', url, payload);
  const waitForSession =
    hasSandboxModel && gitHost !== undefined ? await launchDemoSession(request, gitHost) : undefined;
  const appIds: string[] = [];
  for (const name of apps) appIds.push((await post('/api/apps', { name })).id);
  await createShop(request, appIds[0] as string, receiverUrl);
  if (hasSandboxModel) await buildTaskList(request, receiverUrl);
  const shared = await post('/api/app-folders', {
    name: 'Customers',
    scope: 'workspace',
    color: '#2F6FED',
    icon: 'users',
  });
  const archive = await post('/api/app-folders', { name: 'Archive', scope: 'workspace', parent_folder_id: shared.id });
  const mine = await post('/api/app-folders', { name: 'My drafts', scope: 'personal' });
  await post(`/api/app-folders/${shared.id}/items`, { app_ids: appIds.slice(0, 2) });
  await post(`/api/app-folders/${archive.id}/items`, { app_ids: appIds.slice(2, 3) });
  await post(`/api/app-folders/${mine.id}/items`, { app_ids: appIds.slice(3, 5) });
  const guide = await post('/api/agents', {
    name: 'House guide',
    description: 'Knows where things are',
    instructions: 'You show people around. Be brief and kind.',
  });
  const conversation = await post(`/api/agents/${guide.id}/conversations`, { metadata: { from: 'demo' } });
  const { features } = await request<{ features: { model: boolean } }>('GET', '/api/info');
  if (features.model) {
    const messages = `/api/agents/${guide.id}/conversations/${conversation.id}/messages`;
    // Errors are ignored, because the model may be unavailable and the demo works without its reply.
    await request('POST', messages, { content: 'Please remember that I am new here.' }).catch(() => undefined);
  }
  await request('PUT', '/api/workspace/default-credit-limit', { default_credit_limit: 100 });
  const { user, credential } = await request<Me>('GET', '/api/auth/me');
  await insertDemoPeople(db, { workspace_id: credential.workspace_id, owner_id: user.id }, now);
  await waitForSession?.();
}

interface Me {
  readonly user: { readonly id: string };
  readonly credential: { readonly workspace_id: string };
}
