// A workspace that has rows in every exported table.
import { grant, reserve, settle } from '../../src/core/credits/reservations.ts';
import { newId } from '../../src/kit/ids.ts';
import type { World } from './world.ts';

export async function createFullWorkspace(world: World) {
  const owner = await world.person('owner@example.com');
  const workspace = await world.workspace(owner, 'pro', 'Round trip');
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const as = await world.token(owner, workspace);
  const send = async (method: string, path: string, body?: object) =>
    (await world.call(method, path, { as, body })).body;
  const guest = await world.member(workspace, 'guest', 'guest@example.com');
  const app = await send('POST', '/api/apps', { name: 'Shop', user_description: 'with "quotes" and ünicode' });
  await send('PUT', `/api/apps/${app.id}/shares/${guest.email}`, { role: 'viewer' });
  await send('PUT', `/api/apps/${app.id}/files`, { files: [{ path: 'a.ts', content: 'before' }] });
  await send('PUT', `/api/apps/${app.id}/files`, {
    files: [
      { path: 'a.ts', content: 'ü' },
      { path: 'b.bin', content: Buffer.alloc(300, 7).toString('base64'), encoding: 'base64' },
    ],
  });
  await send('PATCH', `/api/apps/${app.id}/security/settings`, { headers: { hsts: 'max-age=1' } });
  await send('PATCH', `/api/apps/${app.id}/security/settings`, { headers: { hsts: null, csp: "default-src 'self'" } });
  await send('PUT', `/api/apps/${app.id}/secrets/API_KEY`, { value: 'the secret that must stay behind' });
  const user = await send('POST', `/api/apps/${app.id}/users`, {
    email: 'ann@customers.example',
    data: { team: ['ü'] },
  });
  await send('PATCH', `/api/apps/${app.id}/auth/settings`, { sign_up: 'invited', methods: { link: false } });
  await send('POST', `/api/apps/${app.id}/users/${user.id}/tokens`, {});
  const runtime = await send('POST', `/api/apps/${app.id}/users/${user.id}/tokens`, {});
  await send('PUT', `/api/apps/${app.id}/entity-schemas/Task`, {
    name: 'Task',
    properties: { zeta: {}, code: {}, cost: { type: 'number' } },
    unique: [['code']],
    rls: { read: { created_by_id: '{{user.id}}' }, write: true },
  });
  const task = await send('POST', `/api/apps/${app.id}/entities/Task`, { zeta: 'ü', code: 'A', cost: 0.1 });
  const asUser = { as: runtime.token, body: { code: 'B' } };
  await world.call('POST', `/api/apps/${app.id}/entities/Task`, asUser);
  const trashed = await send('POST', `/api/apps/${app.id}/entities/Task`, { code: 'C' });
  await send('DELETE', `/api/apps/${app.id}/entities/Task/${trashed.id}`);
  const top = await send('POST', '/api/app-folders', { name: 'Top', scope: 'workspace' });
  const below = await send('POST', '/api/app-folders', { name: 'Below', scope: 'workspace' });
  await send('PATCH', `/api/app-folders/${below.id}`, { parent_folder_id: top.id });
  // Creates a folder that is older than its parent.
  const first = await send('POST', '/api/app-folders', { name: 'First' });
  const second = await send('POST', '/api/app-folders', { name: 'Second' });
  await send('PATCH', `/api/app-folders/${first.id}`, { parent_folder_id: second.id });
  await send('POST', `/api/app-folders/${below.id}/items`, { app_ids: [app.id] });
  const agent = await send('POST', '/api/agents', { name: 'Guide', instructions: 'Be kind.' });
  const conversation = await send('POST', `/api/agents/${agent.id}/conversations`, { metadata: { from: ['test'] } });
  const dated = { workspace_id: workspace, id: newId(), created_date: new Date() };
  const message = { conversation_id: conversation.id, position: 1, role: 'user', content: 'Hello' } as const;
  await world.db
    .insertInto('agent_messages')
    .values({ ...dated, ...message, file_urls: ['https://example.com/"a,b"'], updated_date: new Date() })
    .execute();
  const opened = world.db.updateTable('agent_conversations').where('id', '=', conversation.id);
  await opened.set({ last_position: 1 }).execute();
  const known = { app_id: agent.id, user_id: guest.id, content: 'likes tea' };
  await world.db
    .insertInto('agent_memories')
    .values({ ...dated, ...known })
    .execute();
  const tool_call = { id: 'c', name: 'save_revision', arguments_string: '{}', status: 'success', results: '+ä' };
  const built = { app_id: app.id, position: 1, role: 'assistant', content: 'Built.', model: 'm' } as const;
  await world.db
    .insertInto('chat_messages')
    .values({ ...dated, ...built, turn_id: newId(), prompt_tokens: 3, tool_calls: JSON.stringify([tool_call]) })
    .execute();
  const target_url = 'https://hook.example.com/';
  const definition = {
    document: { dsl: '1.0.0', namespace: 'app', name: 'welcome', version: '1.0.0' },
    do: [{ note: { set: { seen: 'ü' } } }],
  };
  const hook = { config: { trigger_type: 'webhook' } };
  const workflow = await send('POST', `/api/apps/${app.id}/workflows`, { name: 'Welcome', definition, trigger: hook });
  await send('POST', `/api/apps/${app.id}/workflows/${workflow.id}/toggle-status`, { status: 'inactive' });
  await send('POST', `/api/apps/${app.id}/automations`, {
    name: 'Tasks',
    type: 'entity',
    entity_name: 'Task',
    event_types: ['create', 'delete'],
    condition: '.data.cost > 1',
    action: { type: 'http_request', url: target_url, headers: { 'X-Key': '{{secrets.API_KEY}}' }, body: '.id' },
  });
  await send('POST', `/api/apps/${app.id}/automations`, {
    name: 'Daily',
    type: 'scheduled',
    schedule: { cron: '0 9 * * *', timezone: 'Europe/Berlin', ends_after: 7 },
    action: { type: 'http_request', url: target_url },
  });
  await send('POST', `/api/agents/${agent.id}/webhooks`, { target_url, events: ['message.created'] });
  await send('POST', `/api/apps/${app.id}/webhooks`, {
    target_url,
    events: ['entity.created'],
    entity_names: ['Task'],
    description: 'all',
  });
  await send('POST', `/api/apps/${app.id}/security/scan/ignore`, {
    fingerprint: 'f'.repeat(64),
    finding_type: 'rls',
    title: 'Tasks are öpen',
    reason: 'meant to be',
  });
  await send('POST', `/api/apps/${app.id}/testing-agent/flows`, {
    name: 'Add a täsk',
    goal: 'Add one.',
    role: 'admin',
  });
  const connected = { connected_at: new Date(), created_date: new Date(), updated_date: new Date() };
  const connection = { id: newId(), workspace_id: workspace, app_id: app.id, user_id: owner.id, ...connected };
  const connection_config = JSON.stringify({ subdomain: 'acme-prod' });
  const zendesk = { integration_type: 'zendesk', connection_config, status: 'disconnected' } as const;
  await world.db
    .insertInto('connections')
    .values({ ...connection, ...zendesk, scopes: ['read'] })
    .execute();
  await grant(world.db, workspace, { amount: 5, note: 'welcome', user_id: owner.id }, new Date());
  const day = 24 * 60 * 60 * 1000;
  const act = { workspace_id: workspace, app_id: app.id, operation: 'test', reference_id: app.id, leaseMs: 30 * day };
  const spent = await reserve(world.db, { ...act, user_id: guest.id, amount: 3 }, new Date());
  await settle(world.db, spent, 2.5, new Date());
  await reserve(world.db, { ...act, user_id: null, amount: 1 }, new Date());
  return { owner, workspace, as, send, guest, app, task, trashed };
}
