// Tests listing the webhooks that a member created, and pausing them when the member is removed (docs/api/members.md).
import { describe, expect, it } from 'vitest';
import { type Person, startWorld } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';
import { newId } from '../../kit/ids.ts';

const world = await startWorld();

/** A workspace with an agent, an app, and an editor who creates webhooks. */
async function createPlace() {
  const owner = await world.person(`${newId()}@example.com`);
  const id = await world.workspace(owner);
  const agent = await world.appOf(owner, id, { app_type: 'user_agent', name: 'Agent' });
  const app = await world.appOf(owner, id, { name: 'Shop' });
  const editor = await world.member(id, 'editor', `${newId()}@example.com`);
  return { id, owner, agent, app, editor, asOwner: { as: await world.token(owner, id) } };
}
type Place = Awaited<ReturnType<typeof createPlace>>;

const pathOf = ({ id, app_type }: AppRow) => `/api/${app_type === 'user_agent' ? 'agents' : 'apps'}/${id}/webhooks`;

async function createWebhook(place: Place, app: AppRow, person: Person) {
  const events = app.app_type === 'user_agent' ? ['message.created'] : ['entity.created'];
  const body = { target_url: 'https://hooks.example.com/in', events };
  const created = await world.call('POST', pathOf(app), { as: await world.token(person, place.id), body });
  const { secret: _, ...webhook } = created.body;
  return webhook;
}

const list = ({ asOwner }: Place, { email }: Pick<Person, 'email'>, query = '') =>
  world.call('GET', `/api/workspace/members/${email}/webhooks${query}`, asOwner);
const remove = ({ asOwner }: Place, { email }: Person, query = '') =>
  world.call('DELETE', `/api/workspace/members/${email}${query}`, asOwner);
const isOn = async ({ asOwner }: Place, app: AppRow, { id }: { id: string }) =>
  (await world.call('GET', `${pathOf(app)}/${id}`, asOwner)).body.disabled_at === null;
const turnedOff = async ({ asOwner }: Place) =>
  (await world.call('GET', '/api/workspace/audit-log?type=webhook.turned_off', asOwner)).body.items;

describe('listMemberWebhooks', () => {
  it('returns what the member created on all agents and apps, newest first, page by page', async () => {
    const place = await createPlace();
    const { agent, app, editor, owner } = place;
    const onAgent = await createWebhook(place, agent, editor);
    await createWebhook(place, agent, owner);
    const onApp = await createWebhook(place, app, editor);
    const expected = [
      { scope: 'app', app_id: app.id, app_name: 'Shop', webhook: onApp },
      { scope: 'agent', app_id: agent.id, app_name: 'Agent', webhook: onAgent },
    ];
    expect((await list(place, editor)).body).toEqual({ items: expected, next_cursor: null, has_more: false });
    const first = (await list(place, editor, '?limit=1')).body;
    expect(first.items).toEqual(expected.slice(0, 1));
    const second = (await list(place, editor, `?limit=1&cursor=${first.next_cursor}`)).body;
    expect(second).toEqual({ items: expected.slice(1), next_cursor: null, has_more: false });
  });

  it('also returns webhooks of an app in the trash, and those of a former member', async () => {
    const place = await createPlace();
    const { app, editor } = place;
    const webhook = await createWebhook(place, app, editor);
    await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', app.id).execute();
    expect((await remove(place, editor)).status).toBe(200);
    expect((await list(place, { email: editor.email.toUpperCase() })).body.items).toMatchObject([{ webhook }]);
  });

  it('returns an empty list for a member without webhooks, and 404 for people outside of the workspace', async () => {
    const [place, other] = [await createPlace(), await createPlace()];
    await createWebhook(other, other.app, other.editor);
    expect((await list(place, place.editor)).body.items).toEqual([]);
    for (const email of [other.editor.email, 'nobody@example.com'])
      expect(await list(place, { email })).toMatchObject({ status: 404, body: { code: 'member_not_found' } });
  });

  it('refuses an invalid limit and a cursor of another list', async () => {
    const place = await createPlace();
    for (const person of [place.editor, place.editor, place.owner]) await createWebhook(place, place.app, person);
    expect((await list(place, place.editor, '?limit=0')).status).toBe(422);
    const { next_cursor } = (await list(place, place.editor, '?limit=1')).body;
    expect(await list(place, place.owner, `?cursor=${next_cursor}`)).toMatchObject({
      status: 400,
      body: { code: 'cursor_invalid' },
    });
  });
});

describe('removeMember', () => {
  it('turns off the webhooks that the member created if the caller chooses so', async () => {
    const place = await createPlace();
    const { agent, app, editor, owner } = place;
    const [first, second] = [await createWebhook(place, agent, editor), await createWebhook(place, app, editor)];
    const off = await createWebhook(place, app, editor);
    await world.call('PATCH', `${pathOf(app)}/${off.id}`, { ...place.asOwner, body: { enabled: false } });
    const others = await createWebhook(place, app, owner);
    const before = (await turnedOff(place)).length;

    const removed = await remove(place, editor, '?pause_webhooks=true');
    expect(removed).toMatchObject({ status: 200, body: { success: true }, headers: { 'x-webhooks-paused': '2' } });
    expect(await isOn(place, agent, first)).toBe(false);
    expect(await isOn(place, app, second)).toBe(false);
    expect(await isOn(place, app, others)).toBe(true);
    const entries = (await turnedOff(place)).slice(0, -before);
    expect(entries).toHaveLength(2);
    expect(entries).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          actor: expect.objectContaining({ kind: 'user', id: owner.id }),
          app_id: agent.id,
          target: { kind: 'webhook', id: first.id },
          before: expect.objectContaining({ enabled: true }),
          after: expect.objectContaining({ enabled: false }),
        }),
      ]),
    );
  });

  it('holds the deliveries that wait for a webhook which it turned off', async () => {
    const place = await createPlace();
    const webhook = await createWebhook(place, place.app, place.editor);
    const now = new Date();
    const delivery = {
      id: newId(),
      workspace_id: place.id,
      webhook_id: webhook.id,
      event_id: newId(),
      event_type: 'entity.created',
      sequence: 1,
      status: 'pending' as const,
      created_date: now,
      concurrency_key: 'hooks.example.com',
      due_at: new Date(now.getTime() + 60 * 60 * 1000),
    };
    await world.db.insertInto('webhook_deliveries').values(delivery).execute();
    await remove(place, place.editor, '?pause_webhooks=true');
    const job = world.app.background.jobs.find(({ name }) => name === 'resync webhooks turned on or off');
    while (((await job?.run(world.app.database.db, now)) ?? 0) > 0);
    const path = `${pathOf(place.app)}/${webhook.id}/deliveries`;
    const [held] = (await world.call('GET', path, place.asOwner)).body.items;
    expect(held).toMatchObject({ id: delivery.id, status: 'held' });
  });

  it('leaves them on otherwise, or if it refuses', async () => {
    const place = await createPlace();
    const { app, editor, owner } = place;
    const [editors, owners] = [await createWebhook(place, app, editor), await createWebhook(place, app, owner)];
    const admin = await world.member(place.id, 'admin', `${newId()}@example.com`);
    const asAdmin = { ...place, asOwner: { as: await world.token(admin, place.id) } };
    expect(await remove(asAdmin, owner, '?pause_webhooks=true')).toMatchObject({
      status: 403,
      body: { code: 'owner_protected' },
    });
    expect((await remove(place, editor, '?pause_webhooks=maybe')).status).toBe(422);
    const removed = await remove(place, editor);
    expect(removed.status).toBe(200);
    expect(removed.headers).not.toHaveProperty('x-webhooks-paused');
    expect([await isOn(place, app, editors), await isOn(place, app, owners)]).toEqual([true, true]);
  });
});

describe('removeMembers', () => {
  it('turns off the webhooks of all members whom it removes if the caller chooses so', async () => {
    const place = await createPlace();
    const { app, editor, asOwner } = place;
    const second = await world.member(place.id, 'editor', `${newId()}@example.com`);
    const webhooks = [await createWebhook(place, app, editor), await createWebhook(place, app, second)];
    const body = { emails: [editor.email, second.email], pause_webhooks: true };
    const removed = await world.call('POST', '/api/workspace/members/bulk/remove', { ...asOwner, body });
    expect(removed).toMatchObject({ status: 200, headers: { 'x-webhooks-paused': '2' } });
    for (const webhook of webhooks) expect(await isOn(place, app, webhook)).toBe(false);
  });
});
