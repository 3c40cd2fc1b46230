// Tests following all turns of an app (docs/api/builder-chat.md#follow).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { callTools, say, startChatWorld, writeFile } from '../../../test/support/chat.ts';
import { type EventStream, type StreamedEvent, stream } from '../../../test/support/client.ts';
import { startSecondApp } from '../../../test/support/world.ts';

const chat = await startChatWorld();
const { model, world, workspace, token, scriptSteps, createApp, send, streamTurn, putFile, getApp } = chat;

const follow = (app: { id: string }, { as = token, id = '', url = world.url } = {}) =>
  stream(url, `/api/apps/${app.id}/chat/events`, { as, headers: id === '' ? {} : { 'last-event-id': id } });

const withoutPings = (events: readonly StreamedEvent[]) => events.filter(({ event }) => event !== ':');
const listNames = ({ events }: EventStream) => withoutPings(events).map(({ event }) => event);

/** Adds up the texts of the present run. */
function readText(events: readonly StreamedEvent[]): string {
  let text = '';
  for (const { event, data } of events) {
    if (event === 'message.delta') text += data.text;
    if (event === 'message.reset') text = '';
  }
  return text;
}

describe('followChat', () => {
  it('tells any editor of every turn and of the revision that it makes', async () => {
    const app = await createApp();
    const other = await world.member(workspace, 'editor', 'other@example.com');
    await world.share(app, other, 'editor');
    const followed = await follow(app, { as: await world.token(other, workspace) });
    expect(followed.status).toBe(200);
    expect((await followed.until('app.changed')).data).toEqual({ revision: app.revision });
    scriptSteps({ ...callTools(writeFile('public/a.js', 'let a;')), text: 'One.' }, say('Two.'));
    const sent = await streamTurn(app, 'Go');
    const completed = await followed.until('turn.completed');
    await sent.ended;
    expect(completed.data).toEqual(sent.events.at(-1)?.data);
    expect(completed.data).toMatchObject({ app: { revision: app.revision + 1 } });
    const parts = (events: readonly StreamedEvent[]) =>
      events.filter(({ event }) => event.startsWith('message') || event === 'tool_call');
    expect(readText(followed.events)).toBe('One.\n\nTwo.');
    expect(parts(followed.events).map(({ event, data }) => [event, data])).toEqual(
      parts(sent.events).map(({ event, data }) => [event, data]),
    );
    const names = listNames(followed);
    expect(names.slice(0, 3)).toEqual(['app.changed', 'turn.started', 'message.created']);
    expect(names.filter((name) => name === 'app.changed').length).toBe(2);
    expect(followed.events.findLast(({ event }) => event === 'app.changed')?.data.revision).toBe(app.revision + 1);
    scriptSteps(say('Again.'));
    await send(app, 'Second');
    await expect.poll(() => listNames(followed).filter((name) => name === 'turn.completed').length).toBe(2);
    const ids = withoutPings(followed.events).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    followed.close();
  });

  it('joins the turn of createApp with a first message, from its beginning', async () => {
    model.behave('slow');
    scriptSteps(say('one two three four five'));
    const initial_message = { content: 'A list' };
    const created = await world.call('POST', '/api/apps', { as: token, body: { name: 'List', initial_message } });
    expect(created.status).toBe(200);
    const followed = await follow(created.body);
    expect((await followed.until('message.created')).data).toMatchObject({ role: 'user', content: 'A list' });
    const { data } = await followed.until('turn.completed');
    expect(readText(followed.events)).toBe('one two three four five');
    expect(data.conversation.messages[1].content).toBe('one two three four five');
    followed.close();
  });

  it('begins after the turns that have ended', async () => {
    const app = await createApp();
    await send(app, 'Earlier');
    const followed = await follow(app);
    await followed.until('app.changed');
    await send(app, 'Later');
    expect((await followed.until('message.created')).data.content).toBe('Later');
    followed.close();
  });

  it('tells of revisions that others make', async () => {
    const app = await createApp();
    const followed = await follow(app);
    await followed.until('app.changed');
    await putFile(app, 'public/index.html', 'x');
    await expect
      .poll(() => withoutPings(followed.events).map(({ data }) => data))
      .toEqual([{ revision: app.revision }, { revision: app.revision + 1 }]);
    followed.close();
  });

  it('tells of revisions those who saw a turn and those who joined after it', async () => {
    const app = await createApp();
    const first = await follow(app);
    await first.until('app.changed');
    await send(app, 'Go');
    await first.until('turn.completed');
    const second = await follow(app);
    await second.until('app.changed');
    await putFile(app, 'public/a.js', 'x');
    await putFile(app, 'public/b.js', 'x');
    const { revision } = await getApp(app);
    const listRevisions = ({ events }: EventStream) =>
      withoutPings(events).flatMap(({ event, data }) => (event === 'app.changed' ? [data.revision] : []));
    for (const each of [first, second]) {
      await expect.poll(() => listRevisions(each).at(-1)).toBe(revision);
      each.close();
    }
    const resumed = await follow(app, { id: second.events.findLast(({ id }) => id !== undefined)?.id });
    await putFile(app, 'public/c.js', 'x');
    expect((await resumed.until('app.changed')).data.revision).toBe(revision + 1);
    resumed.close();
  });

  it('continues after any event in another process, without losing or repeating one', async () => {
    const app = await createApp();
    const whole = await follow(app);
    await whole.until('app.changed');
    scriptSteps({ ...callTools(writeFile('public/a.js', 'let a;')), text: 'One.' }, say('Two.'));
    await send(app, 'Go');
    await send(app, 'Once more');
    await expect.poll(() => listNames(whole).filter((name) => name === 'turn.completed').length).toBe(2);
    whole.close();
    const beside = await startSecondApp(world, { streamLimits: { ofCredential: 100 } });
    const all = withoutPings(whole.events);
    // What happens in a turn may be told before or after the app's new revision, depending on when each was read.
    const split = (events: readonly StreamedEvent[]) => ({
      turns: events.filter(({ event }) => event !== 'app.changed').map(({ event, data }) => [event, data]),
      revision: events.findLast(({ event }) => event === 'app.changed')?.data.revision,
    });
    const resumeAt = async ({ id = '' }: StreamedEvent, index: number) => {
      const resumed = await follow(app, { id, url: beside.url });
      const rest = split(all.slice(index + 1));
      await expect.poll(() => split(withoutPings(resumed.events))).toEqual(rest);
      resumed.close();
    };
    await Promise.all(all.map(resumeAt));
  });

  it('says so when a turn is run again, and then has its whole text', async () => {
    const app = await createApp();
    scriptSteps(() => new Promise(() => {}));
    const followed = await follow(app);
    const sending = send(app, 'Go');
    const { turn_id } = (await followed.until('turn.started')).data;
    const write = (claim: number, text: string) =>
      sql`insert into turn_deltas (workspace_id, turn_id, claim, seq, delta, created_date)
        values (${workspace}, ${turn_id}, ${claim}, 1, ${JSON.stringify({ text })}, now())`.execute(world.db);
    const findClaims = async () =>
      (await world.db.selectFrom('chat_turns').select('claims').where('id', '=', turn_id).executeTakeFirstOrThrow())
        .claims;
    await expect.poll(findClaims).toBe(1);
    await write(1, 'One tw');
    await followed.until('message.delta');
    // What another worker does after the first was killed.
    await world.db.updateTable('chat_turns').set({ claims: 2 }).where('id', '=', turn_id).execute();
    await write(2, 'One two');
    await followed.until('message.reset');
    await expect.poll(() => readText(followed.events)).toBe('One two');
    await chat.stop(app);
    await sending;
    followed.close();
  });

  it('tells of a turn that is stopped', async () => {
    const app = await createApp();
    scriptSteps(() => new Promise(() => {}));
    const followed = await follow(app);
    const sending = send(app, 'Go');
    await followed.until('turn.started');
    await chat.stop(app);
    const { data } = await followed.until('turn.completed');
    expect(data.conversation.messages.at(-1)).toMatchObject({ role: 'system' });
    expect((await sending).status).toBe(200);
    followed.close();
  });

  it('gives what is left if the turns themselves were removed', async () => {
    const app = await createApp();
    const followed = await follow(app);
    await followed.until('app.changed');
    await send(app, 'Go');
    const { id = '' } = await followed.until('message.created');
    await followed.until('turn.completed');
    followed.close();
    await sql`delete from chat_turns where app_id = ${app.id}`.execute(world.db);
    const resumed = await follow(app, { id });
    await send(app, 'Next');
    expect((await resumed.until('message.created')).data.content).toBe('Next');
    resumed.close();
  });

  it('refuses an id of another app, of the future, or of no event', async () => {
    const app = await createApp();
    const other = await createApp();
    await send(app, 'Go');
    const { revision } = await getApp(app);
    for (const id of [
      'x',
      `${other.id}:1:0:0:1`,
      `${app.id}:9:0:0:1`,
      `${app.id}:1:5:0:1`,
      `${app.id}:1:0:0:${revision + 1}`,
    ])
      expect(
        await world.call('GET', `/api/apps/${app.id}/chat/events`, { as: token, headers: { 'last-event-id': id } }),
      ).toMatchObject({ status: 422, body: { detail: [{ loc: ['header', 'Last-Event-ID'], type: 'value_error' }] } });
  });

  it('ends with an error once the caller may no longer edit the app', async () => {
    const quick = await startSecondApp(world, { streamLimits: { accessEveryMs: 50 } });
    const app = await createApp();
    const person = await world.member(workspace, 'editor', 'leaving@example.com');
    await world.share(app, person, 'editor');
    const followed = await follow(app, { as: await world.token(person, workspace), url: quick.url });
    await followed.until('app.changed');
    await world.db.deleteFrom('app_shares').where('app_id', '=', app.id).execute();
    await world.db.updateTable('memberships').set({ role: 'viewer' }).where('user_id', '=', person.id).execute();
    expect((await followed.until('error')).data).toMatchObject({ status: 403 });
    await followed.ended;
  });

  it('takes a place among the open streams of the credential', async () => {
    const narrow = await startSecondApp(world, { streamLimits: { ofCredential: 1 } });
    const app = await createApp();
    const first = await follow(app, { url: narrow.url });
    await first.until('app.changed');
    expect((await follow(app, { url: narrow.url })).status).toBe(429);
    first.close();
  });
});
