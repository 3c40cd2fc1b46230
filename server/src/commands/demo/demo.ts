// Owns the demo data: made through the API itself, as a person would make it; the many people in it in bulk.
import type { App } from '../../app.ts';
import { insertDemoPeople } from './people.ts';

const apps = ['Shop front', 'Booking desk', 'Field notes', 'Price watch', 'Team board', 'Recipe box'];

export async function createDemoData({ server, database }: App, token: string, now: Date): Promise<void> {
  const ask = async <Body>(method: 'GET' | 'POST' | 'PUT', url: string, payload?: object): Promise<Body> => {
    const answer = await server.inject({ method, url, payload, headers: { authorization: `Bearer ${token}` } });
    if (answer.statusCode !== 200)
      throw new Error(`demo data: ${method} ${url} answered ${answer.statusCode}: ${answer.body}`);
    return answer.json();
  };
  const post = (url: string, payload: object) => ask<{ id: string }>('POST', url, payload);
  const made: string[] = [];
  for (const name of apps) made.push((await post('/api/apps', { name })).id);
  const shared = await post('/api/app-folders', {
    name: 'Customers',
    scope: 'workspace',
    color: '#2F6FED',
    icon: 'users',
  });
  const archive = await post('/api/app-folders', { name: 'Archive', scope: 'workspace', parent_folder_id: shared.id });
  const mine = await post('/api/app-folders', { name: 'My drafts', scope: 'personal' });
  await post(`/api/app-folders/${shared.id}/items`, { app_ids: made.slice(0, 2) });
  await post(`/api/app-folders/${archive.id}/items`, { app_ids: made.slice(2, 3) });
  await post(`/api/app-folders/${mine.id}/items`, { app_ids: made.slice(3, 5) });
  const guide = await post('/api/agents', {
    name: 'House guide',
    description: 'Knows where things are',
    instructions: 'You show people around. Be brief and kind.',
  });
  const conversation = await post(`/api/agents/${guide.id}/conversations`, { metadata: { from: 'demo' } });
  const { features } = await ask<{ features: { model: boolean } }>('GET', '/api/info');
  if (features.model) {
    // Whatever comes of it: a model that is set up may be away, and the demo is good without its reply.
    await server.inject({
      method: 'POST',
      url: `/api/agents/${guide.id}/conversations/${conversation.id}/messages`,
      payload: { content: 'Please remember that I am new here.' },
      headers: { authorization: `Bearer ${token}` },
    });
  }
  await ask('PUT', '/api/workspace/default-credit-limit', { default_credit_limit: 100 });
  const { user, credential } = await ask<Me>('GET', '/api/auth/me');
  await insertDemoPeople(database.db, { workspace_id: credential.workspace_id, owner_id: user.id }, now);
}

interface Me {
  readonly user: { readonly id: string };
  readonly credential: { readonly workspace_id: string };
}
