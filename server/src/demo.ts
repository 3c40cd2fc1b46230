// Owns the demo data: made through the API itself, as a person would make it.
import type { App } from './app.ts';

const apps = ['Shop front', 'Booking desk', 'Field notes', 'Price watch', 'Team board', 'Recipe box'];

export async function makeDemo({ server }: App, token: string): Promise<void> {
  const post = async (url: string, payload: object): Promise<{ id: string }> => {
    const answer = await server.inject({ method: 'POST', url, payload, headers: { authorization: `Bearer ${token}` } });
    if (answer.statusCode !== 200)
      throw new Error(`demo data: POST ${url} answered ${answer.statusCode}: ${answer.body}`);
    return answer.json();
  };
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
}
