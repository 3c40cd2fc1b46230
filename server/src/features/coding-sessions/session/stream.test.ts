// Tests following sessions as event streams (docs/api/coding-sessions.md#following).
import { describe, expect, it, vi } from 'vitest';
import { claimSession, question, ready, startCodingWorld } from '../../../../test/support/coding.ts';
import { appendLog, moveClaimed } from './session.ts';

const scene = await startCodingWorld();
const { world, token, owner, workspace, connectedApp, launched, call, work, sessionDeps } = scene;
const { db } = world.app.database;

interface Received {
  readonly id: number;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server sent.
  readonly data: any;
}

/** Opens the stream and calls `onEvent` for each event, until it returns true or the stream ends. */
async function follow(
  app: { id: string },
  session: { id: string },
  { lastEventId, as = token }: { lastEventId?: number | string; as?: string } = {},
  onEvent: (event: Received, all: readonly Received[]) => boolean | Promise<boolean> = () => false,
): Promise<Received[]> {
  const response = await fetch(`${world.url}/api/apps/${app.id}/imported/sessions/${session.id}/events`, {
    headers: {
      authorization: `Bearer ${as}`,
      ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
    },
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  expect(response.headers.get('x-session-version')).toMatch(/^\d+$/);
  const received: Received[] = [];
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const [id = '', event = '', data = ''] = text
        .slice(0, end)
        .split('\n')
        .map((line) => line.slice(line.indexOf(': ') + 2));
      text = text.slice(end + 2);
      if (event === '') continue;
      received.push({ id: Number(id), event, data: JSON.parse(data) });
      if (await onEvent(received.at(-1) as Received, received)) return received; // closes the connection
    }
  }
  return received;
}

const describeEvents = (events: readonly Received[]) =>
  events.map(({ id, event, data }) => `${id} ${event} ${data.state ?? data.text ?? data.kind}`);

async function prepared() {
  const app = await connectedApp();
  const session = await launched(app, { existing_branch: 'feature' });
  return { app, session };
}

/** A session that ran, wrote to its log, asked a question, received the answer, and ended. */
async function ended() {
  const { app, session } = await prepared();
  const claimed = await claimSession(world, session);
  await moveClaimed(db, sessionDeps, claimed, ready('feature'), new Date());
  await appendLog(db, sessionDeps, claimed, ['Read total.js', 'Changed total.js'], new Date());
  const input_request = question();
  await moveClaimed(db, sessionDeps, claimed, { to: 'needs_input', input_request }, new Date());
  await call('POST', app, `/sessions/${session.id}/cancel`);
  await work(session, { to: 'cancelled' });
  return { app, session, input_request };
}

const all = [
  '2 state running',
  '3 log Read total.js',
  '4 log Changed total.js',
  '5 state needs_input',
  '6 input_request question',
  '7 state cancelling',
  '8 state cancelled',
];

describe('streamSession', () => {
  it('begins with the session as it is, follows it, and ends when it has ended', async () => {
    const { app, session } = await prepared();
    const claimed = await claimSession(world, session);
    const events = await follow(app, session, {}, async ({ id }) => {
      if (id === 1) await moveClaimed(db, sessionDeps, claimed, ready('feature'), new Date());
      if (id === 2) await appendLog(db, sessionDeps, claimed, ['Read total.js'], new Date());
      if (id === 3)
        await moveClaimed(
          db,
          sessionDeps,
          claimed,
          { to: 'completed', change: { outcome: 'answer', summary: 'Done.' } },
          new Date(),
        );
      return false;
    });
    expect(describeEvents(events)).toEqual([
      '1 state queued',
      '2 state running',
      '3 log Read total.js',
      '4 state completed',
    ]);
    expect(events.at(-1)?.data).toEqual((await call('GET', app, `/sessions/${session.id}`)).body);
  });

  it('sends every event after Last-Event-ID, whichever that is', async () => {
    const { app, session, input_request } = await ended();
    for (let seen = 1; seen <= 8; seen += 1) {
      const events = await follow(app, session, { lastEventId: seen });
      expect(describeEvents(events)).toEqual(all.slice(seen - 1));
      if (seen <= 5) expect(events.find(({ event }) => event === 'input_request')?.data).toEqual(input_request);
    }
  });

  it('loses and repeats nothing if the connection breaks again and again', async () => {
    const { app, session } = await ended();
    const events: Received[] = [];
    let lastEventId = 1;
    while (lastEventId < 8) {
      events.push(...(await follow(app, session, { lastEventId }, () => true)).slice(0, 1));
      lastEventId = events.at(-1)?.id ?? 8;
    }
    expect(describeEvents(events)).toEqual(all);
  });

  it.each(['x', '-1', '99', '1.5', '9'.repeat(30)])(
    'begins again after %s, which is no version of it',
    async (lastEventId) => {
      const { app, session } = await ended();
      expect(describeEvents(await follow(app, session, { lastEventId }))).toEqual(['8 state cancelled']);
    },
  );

  it('shows the open question first to a caller who has seen nothing yet', async () => {
    const { app, session } = await prepared();
    await work(session, ready('feature'), { to: 'needs_input', input_request: question() });
    const events = await follow(app, session, {}, (_event, received) => received.length === 2);
    expect(describeEvents(events)).toEqual(['3 state needs_input', '4 input_request question']);
  });

  it('shows only the present state once the events were removed', async () => {
    const { app, session } = await ended();
    const job = world.app.background.jobs.find(({ name }) => name === 'remove old events of coding sessions');
    await job?.run(db, new Date(Date.now() + 8 * 24 * 60 * 60_000));
    expect(describeEvents(await follow(app, session, { lastEventId: 2 }))).toEqual(['8 state cancelled']);
  });

  it('holds no connection to the database while nothing happens: 100 streams leave room for requests', async () => {
    const { app, session } = await prepared();
    const tokens = await Promise.all(Array.from({ length: 5 }, () => world.token(owner, workspace)));
    const opened: Promise<unknown>[] = [];
    let first = 0;
    const allOpen = Promise.withResolvers<void>();
    for (let number = 0; number < 100; number += 1)
      opened.push(
        follow(app, session, { as: tokens[number % 5] as string }, ({ id }) => {
          if (id === 1 && ++first === 100) allOpen.resolve();
          return id > 1;
        }),
      );
    await allOpen.promise;
    expect((await call('GET', app, `/sessions/${session.id}`)).status).toBe(200);
    await call('POST', app, `/sessions/${session.id}/cancel`);
    await Promise.all(opened);
  });

  it('sends nothing more to who has lost the role, however much is logged', async () => {
    const { app, session } = await prepared();
    const editor = await world.member(workspace, 'editor', 'editor@example.com');
    const as = await world.token(editor, workspace);
    const claimed = await claimSession(world, session);
    const realNow = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now');
    const events = await follow(app, session, { as }, async ({ id }) => {
      if (id > 1) return true;
      await world.db.updateTable('memberships').set({ role: 'viewer' }).where('user_id', '=', editor.id).execute();
      clock.mockImplementation(() => realNow() + 11_000);
      await appendLog(db, sessionDeps, claimed, ['Read secret.js'], new Date());
      return false;
    }).finally(() => clock.mockRestore());
    expect(describeEvents(events)).toEqual(['1 state queued']);
  });

  it('is refused to others', async () => {
    const { app, session } = await prepared();
    const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
    const as = await world.token(viewer, workspace);
    expect(await call('GET', app, `/sessions/${session.id}/events`, { as })).toMatchObject({ status: 403 });
  });
});
