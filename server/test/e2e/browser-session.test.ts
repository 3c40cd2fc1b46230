// Tests browser sessions with the machine's Chromium: acting on a page, finding elements again after the page has
// changed, checks, recorded evidence, and cleaning up every browser process.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowserSessions } from '../../src/gateways/browser/session/index.ts';
import { type BrowserSession, type Check, SessionGone, type Target } from '../../src/gateways/browser/session/types.ts';
import {
  act,
  collectFailures,
  executable,
  never,
  openSession,
  processesOf,
  refOf,
  servePages,
} from './session-pages.ts';

const { failures, settings, sessions } = collectFailures();
let app: Awaited<ReturnType<typeof servePages>>;
let session: BrowserSession;
/** Waits half a second for an action instead of five, for actions that never succeed. */
const hasty = openBrowserSessions(settings, { actionMs: 500 });
let impatient: Awaited<ReturnType<typeof openSession>>;
let crashing: Awaited<ReturnType<typeof openSession>>;

/** Renders the page on which targets are recorded, and later versions of that page. */
const form = (fields: string) => `<!doctype html><title>Tasks</title><main>
  <form aria-label="New task" onsubmit="event.preventDefault(); document.title = 'Submitted'">${fields}</form></main>`;
const [field, add] = [
  '<label>Task <input placeholder="What is to be done?" data-testid=task></label>',
  '<button>Add</button>',
];
const items = (...names: string[]) =>
  `<ul>${names
    .map((name) => `<li>${name} <button onclick="this.parentElement.remove()">Delete</button></li>`)
    .join('')}</ul>`;
const pages: Record<string, string> = {
  '/': form(field + add) + items('Bread', 'Milk'),
  '/more-items': items('Milkshake', 'Milk', 'Bread'),
  '/other-items': items('Milkshake', 'Cheese'),
  '/moved': form(field + add).replace('New task', 'Other'),
  '/dialog': '<dialog open aria-label="Delete the draft?"><button>Delete</button><button>Yes</button></dialog>',
  '/other-dialog': '<dialog open aria-label="Delete your account?"><button>Delete</button></dialog>',
  '/add-twice': `<main><button onclick="opened += 1; setTimeout(() => { d.open = true }, 400)">Add</button></main><p></p>
    <dialog id=d aria-label=New><button onclick="document.querySelector('p').textContent = 'Added 1, opened ' + opened">Add</button></dialog>
    <script>let opened = 0</script>`,
  '/pay': form('<button data-testid=all>Pay all</button>'),
  '/sign-in': '<main><label>Password <input type=password data-testid=password></label></main>',
  '/sign-in-changed': '<main><input type=password aria-label=Secret data-testid=password></main>',
  '/comment': '<main><input aria-label=Comment data-testid=password></main>',
  '/relabelled': form(`<label>To do <input placeholder="What is to be done?" data-testid=task></label>${add}`),
  '/search-field': form(`<label>Task <input type=search placeholder="New"></label>${add}`),
  '/test-id': form(`<input aria-label="To do" placeholder="New" data-testid=task>${add}`),
  '/link': form(`${field}<a href="#" role=tab>Add</a>`),
  '/renamed': form(`${field}<button>Save</button>`),
  '/two-buttons': form(`${field}<button>Save</button><button>Help</button>`),
  '/dangerous': form(`${field}<button>Delete all</button>`),
  '/later': `<main></main><script>setTimeout(() => { document.querySelector('main').innerHTML = ${JSON.stringify(
    `<button>Wrong</button>`,
  )} }, 50); fetch('/slow').then(() => { document.body.innerHTML = ${JSON.stringify(form(field + add))} })</script>`,
  '/slow-answer': `<main></main><script>fetch('/very-slow').then(() => {
    document.body.innerHTML = ${JSON.stringify(form(field + add))} })</script>`,
  '/much-later': `<main><button>Wrong</button></main><script>setTimeout(() => {
    document.body.innerHTML = ${JSON.stringify(form(field + add))} }, 800)</script>`,
  '/total': `<p>Total: 118.50, 11 orders</p><ul><li>One</ul><button onclick="fetch('/brief').then(() => {
    document.querySelector('p').textContent = 'Total: 20' })">Save</button><button onclick="setTimeout(() => {
    document.querySelector('ul').innerHTML += '<li>Late' }, 350)">More</button><button onclick="fetch('/late-error')">Send</button>`,
  '/remove': '<main><button data-testid=delete>Remove</button></main>',
  '/delete': '<main><button data-testid=delete>Delete</button></main>',
  '/many-refused': `<script>Promise.all(Array.from({ length: 60 }, (_, i) => fetch('/none/' + i))).then(() =>
    Promise.all([fetch('/broken?token=secret'), fetch('/broken?token=secret')]))</script>`,
  '/form.html': `<title>Form</title><label>Name <input value=Ann></label><label><input type=checkbox checked> Agree</label>
    <label>Size <select><option value=s>Small<option value=l selected>Large</select></label><label>Code <input readonly></label>
    <button disabled>Send</button><p role=status>2 items   left</p><ul><li>One<li>Two<li hidden>Three</ul>
    <div id=b role=combobox aria-label=Colour aria-expanded=false tabindex=0
      onclick="o.hidden = false">None</div><div role=listbox id=o hidden><div role=option onclick="b.textContent = 'Blue'">Blue</div></div>
    <button style="position:relative">Under</button><div style="position:fixed;inset:0;top:400px" id=cover></div>`,
  '/wide': '<title>Wide</title><meta name=viewport content="width=device-width"><div style="width:600px">Wide</div>',
  '/cut':
    '<title>Cut</title><div style="width:200px;overflow:hidden;white-space:nowrap">Some text that takes room <button>Pay now</button></div>',
  '/fits':
    '<title>Fits</title><nav style="position:fixed;left:0;width:200px;transform:translateX(-100%)"><a href="/">Home</a></nav><nav style="max-height:0;overflow:hidden"><a href="/">Orders</a></nav><button>Pay now</button>',
  '/asks': `<button onclick="this.textContent = [confirm('Really?'), prompt('Name?'), alert('x')].join()">Ask</button>`,
  '/renamed-asks': form(
    `<button type=button data-testid=ask onclick="this.textContent = confirm('Really?') ? 'Yes' : 'No'">Request</button>`,
  ),
  '/goes-on': "<script>location.replace('/fits')</script>",
  '/flood': "<script>for (;;) console.error('x'.repeat(1 << 20))</script>",
  '/windows': `<button onclick="window.open('/fits')">Open</button><button onclick="for (let i = 0; i < 9; i++) window.open('/fits')">Many</button>`,
  '/faulty': `<button onclick="console.error('bad', 1); setTimeout(() => { throw new Error('thrown') }); Promise.reject(new Error('rejected'));
    fetch('/broken?token=secret'); fetch('/gone'); fetch('http://127.0.0.1:9999/x'); console.log('fine')">Break</button>`,
  '/orders': `<button onclick="order(1), order(1)">Double</button><button onclick="order(1)">Once</button>
    <button onclick="order(1), order(2)">Two</button><button onclick="order(1).then(() => order(1))">Then</button>
    <button onclick="order('refused').then(() => order('refused'))">Retry</button>
    <button onclick="order('same'), order('same')">Same</button><button onclick="load(), load()">Load</button>
    <script>const order = (what) => fetch('/order', { method: 'POST', body: JSON.stringify({ what }) });
      const load = () => fetch('/order')</script>`,
  '/endless': '<button onclick="for (;;) {}">Hang</button>',
};

beforeAll(async () => {
  app = await servePages({
    ...pages,
    '/broken?token=secret': (_, response) => void response.writeHead(500).end(),
    '/gone': (request) => void request.socket.destroy(),
    '/framed': (_, response) =>
      void response
        .setHeader('content-type', 'text/html')
        .end(`<iframe src="${app.url.replace('app.localhost', 'other.localhost')}sign-in"></iframe>`),
    '/order': createOrders(),
    '/nothing': (_, response) => void response.writeHead(204).end(),
    '/file': (_, response) => void response.setHeader('content-disposition', 'attachment; filename=a.csv').end('a,b'),
    '/brief': (_, response) => void setTimeout(() => response.end(), 150),
    '/late-error': (_, response) => void setTimeout(() => response.writeHead(500).end(), 400),
    '/very-slow': (_, response) => void setTimeout(() => response.end(), 1_200),
    '/slow': (_, response) => void setTimeout(() => response.end(), 500),
  });
  session = await openSession(sessions, { url: app.url });
  const alsoAllowed = [app.url.replace('app.localhost', 'other.localhost')];
  impatient = await openSession(hasty, { url: app.url, alsoAllowed });
});
afterAll(async () => {
  await Promise.all([sessions.close(), hasty.close()]);
  app.close();
});

const open = (path: string) => act(session, { action: 'open', path });
const check = (checked: Check, timeoutMs = 0) => session.check(checked, never, timeoutMs);

async function record(path: string, line: string, number = 0): Promise<Target> {
  await open(path);
  const { target } = await check({ kind: 'visible', place: { ref: await refOf(session, line, number) } });
  if (target === null) throw new Error('not described');
  return target;
}

describe('a snapshot', () => {
  it('shows what a person perceives, with refs to act on, and says where it was cut', async () => {
    await open('/');
    const { url, title, tree } = await session.snapshot();
    expect([url, title]).toEqual([app.url, 'Tasks']);
    expect(tree).toMatch(/^ {2}- main \[ref=e\d+\]\n {4}- form "New task" \[ref=e\d+\]/m);
    expect(tree).toMatch(/- textbox "Task" \[ref=e\d+\] \[placeholder="What is to be done\?"\]/);
    const cut = await session.snapshot(150);
    expect(cut.tree.length).toBeLessThanOrEqual(150);
    expect(cut.tree).toMatch(/the rest of the page is not shown$/);
  });
});

describe('an action', () => {
  it('on a ref describes its element, which is then found again', async () => {
    await open('/');
    const place = { ref: await refOf(session, 'textbox "Task"') };
    const typed = await act(session, { action: 'type', place, text: 'Water the plants', submit: true });
    expect(typed).toEqual({
      outcome: 'done',
      found_by: null,
      now: null,
      confirmed: false,
      target: {
        role: 'textbox',
        name: 'Task',
        within: 'form "New task"',
        label: 'Task',
        placeholder: 'What is to be done?',
        text: null,
        test_id: 'task',
        is_destructive: false,
      },
    });
    expect((await session.snapshot()).title).toBe('Submitted');
    const again = await act(session, {
      action: 'type',
      place: { target: typed.target as Target },
      text: 'x',
      submit: false,
    });
    expect(again).toMatchObject({ found_by: 'role_and_name', now: null });
    expect(await check({ kind: 'value', place, value: 'x' })).toMatchObject({ holds: true });
  });

  it('on a ref that is gone, or of an earlier page, is not done', async () => {
    await open('/');
    const ref = await refOf(session, 'button "Add"');
    await open('/form.html');
    for (const place of [{ ref }, { ref: 'e999' }, { ref: '"]' }])
      expect(await session.act({ action: 'click', place }, never)).toMatchObject({ outcome: 'not_found' });
  });

  it('in one item of a list is never done in another', async () => {
    const target = await record('/', 'button "Delete"', 1);
    expect(target).toMatchObject({ within: 'listitem "Milk"', is_destructive: true });
    await open('/more-items');
    expect(await act(session, { action: 'click', place: { target } })).toMatchObject({ found_by: 'role_and_name' });
    expect(await check({ kind: 'count', role: 'listitem', name: null, count: 2 })).toMatchObject({ holds: true });
    const { seen } = await check({ kind: 'text', text: 'Milkshake', place: null });
    expect(seen).toMatch(/^Milkshake Delete Bread/);
    await act(impatient, { action: 'open', path: '/other-items' });
    expect(await impatient.act({ action: 'click', place: { target } }, never)).toEqual({
      outcome: 'not_found',
      why: 'There is no button "Delete" in listitem "Milk" on the page.',
    });
    const left: Check = { kind: 'count', role: 'listitem', name: null, count: 2 };
    expect(await impatient.check(left, never, 0)).toMatchObject({ holds: true });
  });

  it('in one dialog or form is not done outside of it while it may come, and never if it deletes', async () => {
    const target = await record('/dialog', 'button "Delete"');
    expect(target).toMatchObject({ within: 'dialog "Delete the draft?"' });
    await act(impatient, { action: 'open', path: '/other-dialog' });
    expect(await impatient.act({ action: 'click', place: { target } }, never)).toMatchObject({ outcome: 'not_found' });
    expect(await record('/dialog', 'button "Yes"')).toMatchObject({ is_destructive: true });
    await open('/add-twice');
    const outer = { ref: await refOf(session, 'button "Add"') };
    await act(session, { action: 'click', place: outer });
    const inner = { ...(await record('/', 'button "Add"')), within: 'dialog "New"' };
    await open('/add-twice');
    await act(session, { action: 'click', place: { target: { ...inner, within: 'main' } } });
    await act(session, { action: 'click', place: { target: inner } });
    expect(await check({ kind: 'text', text: 'Added 1, opened 1', place: null })).toMatchObject({ holds: true });
  });

  it('that pays is not done in place of one that deletes', async () => {
    const target = { ...(await record('/dangerous', 'button "Delete all"')), test_id: 'all' };
    await act(impatient, { action: 'open', path: '/pay' });
    expect(await impatient.act({ action: 'click', place: { target } }, never)).toMatchObject({ outcome: 'not_found' });
  });

  it('types a secret only on the app itself, and into another field only if that is for passwords', async () => {
    const target = await record('/sign-in', 'textbox "Password"');
    const type = async (path: string) => {
      await act(impatient, { action: 'open', path });
      const typed = { action: 'type', place: { target }, text: 'hush', submit: false, secret: true } as const;
      const outcome = await impatient.act(typed, never);
      return outcome.outcome === 'done' ? outcome.found_by : outcome.why;
    };
    expect(await type('/sign-in')).toBe('role_and_name');
    expect(await type('/sign-in-changed')).toBe('test_id');
    expect(await type('/comment')).toBe('The password can only be typed into a password field.');
    expect(await type('/framed')).toBe(
      "The password can only be typed on the app's own pages. Open one of them first.",
    );
  });

  it.each([
    ['button "Add"', '/moved', 'elsewhere', { name: 'Add', within: 'form "Other"' }],
    ['textbox "Task"', '/search-field', 'label', { role: 'searchbox', name: 'Task' }],
    ['textbox "Task"', '/relabelled', 'placeholder', { role: 'textbox', name: 'To do' }],
    ['textbox "Task"', '/test-id', 'test_id', { role: 'textbox', name: 'To do' }],
    ['button "Add"', '/link', 'text', { role: 'tab', name: 'Add' }],
    ['button "Add"', '/renamed', 'only_such_role', { role: 'button', name: 'Save' }],
  ])('finds the %s of a changed page (%s) by %s', async (line, path, by, now) => {
    const target = await record('/', line);
    await act(impatient, { action: 'open', path });
    const done = await act(impatient, { action: 'click', place: { target } });
    expect(done).toMatchObject({ target, found_by: by, now });
  });

  it('does not take one of several for the only one, nor a harmless button for one that deletes, nor the reverse', async () => {
    const target = await record('/', 'button "Add"');
    const dangerous = await record('/dangerous', 'button "Delete all"');
    const click = async (path: string, place: { target: Target }) => {
      await act(impatient, { action: 'open', path });
      return impatient.act({ action: 'click', place }, never);
    };
    expect(await click('/two-buttons', { target })).toMatchObject({ outcome: 'ambiguous' });
    expect(await click('/dangerous', { target })).toMatchObject({ outcome: 'not_found' });
    expect(await click('/renamed', { target: dangerous })).toMatchObject({ outcome: 'not_found' });
  });

  it('waits for what a slow page shows later, without taking something else meanwhile', async () => {
    const target = await record('/', 'button "Add"');
    for (const path of ['/later', '/much-later']) {
      await open(path);
      expect(await act(session, { action: 'click', place: { target } })).toMatchObject({ found_by: 'role_and_name' });
    }
  });

  it('selects in a list of the browser and in one that the page draws', async () => {
    await open('/form.html');
    await act(session, { action: 'select', place: { ref: await refOf(session, 'combobox "Size"') }, option: 'Small' });
    const size = { ref: await refOf(session, 'combobox "Size"') };
    expect(await check({ kind: 'value', place: size, value: 'Small' })).toMatchObject({ holds: true });
    await act(session, { action: 'select', place: { ref: await refOf(session, 'combobox "Colour"') }, option: 'Blue' });
    const colour = { ref: await refOf(session, 'combobox "Colour"') };
    expect(await check({ kind: 'text', text: 'Blue', place: colour })).toMatchObject({ holds: true });
  });

  it('that a person could not do is not done, and says why', async () => {
    await act(impatient, { action: 'open', path: '/form.html' });
    const refs = await Promise.all(
      ['button "Send"', 'textbox "Code"', 'combobox "Size"'].map((line) => refOf(impatient, line)),
    );
    const [send = '', code = '', size = ''] = refs;
    const outcomes = await Promise.all([
      impatient.act({ action: 'click', place: { ref: send } }, never),
      impatient.act({ action: 'type', place: { ref: code }, text: 'x', submit: false }, never),
      impatient.act({ action: 'select', place: { ref: size }, option: 'Huge' }, never),
      impatient.act({ action: 'resize', width: 50, height: 500 }, never),
      impatient.act({ action: 'type', place: { ref: code }, text: 'x'.repeat(10_001), submit: false }, never),
    ]);
    expect(outcomes.map((outcome) => (outcome.outcome === 'done' ? 'done' : outcome.why))).toEqual([
      'The element is disabled.',
      'The field is read-only.',
      'The list has no such option.',
      'The width must be between 240 and 1920 px.',
      'At most 10000 characters can be typed.',
    ]);
  });

  it.each([
    'file:///etc/passwd',
    'chrome://version',
    'javascript:alert(1)',
    'data:text/html,x',
    'https://example.com/',
    '//example.com/',
    'about:blank',
  ])('does not open %s', async (path) => {
    await open('/fits');
    expect(await session.act({ action: 'open', path }, never)).toMatchObject({ outcome: 'not_possible' });
    expect(await check({ kind: 'url', contains: '/fits' })).toMatchObject({ holds: true });
  });

  it('opens a page that continues to another one, but neither a file nor an empty answer', async () => {
    expect(await session.act({ action: 'open', path: '/goes-on' }, never)).toMatchObject({ outcome: 'done' });
    expect(await check({ kind: 'url', contains: '/fits' }, 1_000)).toMatchObject({ holds: true });
    const whys = [];
    for (const path of ['/nothing', '/file']) {
      const outcome = await session.act({ action: 'open', path }, never);
      whys.push(outcome.outcome === 'not_possible' ? outcome.why : outcome.outcome);
    }
    expect(whys).toEqual([
      'There is no page at this address. The response is empty.',
      'This address serves a file, not a page. Tests do not download files.',
    ]);
    expect(await check({ kind: 'url', contains: '/fits' })).toMatchObject({ holds: true });
  });

  it('at an element that has changed confirms only what the recorded one confirmed', async () => {
    const target = { ...(await record('/renamed-asks', 'button "Request"')), name: 'Ask' };
    const click = async (place: { target: Target }, confirms?: boolean) => {
      await act(impatient, { action: 'open', path: '/renamed-asks' });
      const outcome = await impatient.act({ action: 'click', place, confirms }, never);
      const said = await impatient.check({ kind: 'text', text: 'Yes', place: null }, never, 0);
      return [outcome.outcome === 'done' ? outcome.confirmed : outcome.why, said.holds];
    };
    const refusal =
      'The page opened a confirmation dialog that was not recorded. The dialog was cancelled because the element has changed.';
    expect(await click({ target: { ...target, name: 'Request' } })).toEqual([true, true]);
    expect(await click({ target }, true)).toEqual([true, true]);
    expect(await click({ target })).toEqual([refusal, false]);
    const { notes } = impatient.evidence();
    expect(notes.at(-1)?.text).toBe('Dismissed a dialog (confirm): Really?');
  });

  it('ends with its signal', async () => {
    await open('/');
    const signal = AbortSignal.timeout(200);
    const waiting = session.act({ action: 'wait', check: { kind: 'url', contains: 'nowhere' } }, signal);
    await expect(waiting).rejects.toThrow(/aborted|timeout/i);
  });
});

describe('a check', () => {
  it.each<[Check, boolean, string]>([
    [{ kind: 'text', text: '2 ITEMS left', place: null }, true, '2 items left'],
    [{ kind: 'text', text: '3 items left', place: null }, false, '2 items left'],
    [{ kind: 'no_text', text: 'Three', place: null }, true, ''],
    [{ kind: 'no_text', text: 'Two', place: null }, false, 'Two'],
    [{ kind: 'count', role: 'listitem', name: null, count: 2 }, true, '2'],
    [{ kind: 'count', role: 'button', name: 'Send', count: 2 }, false, '1'],
    [{ kind: 'url', contains: '/form' }, true, '/form.html'],
    [{ kind: 'url', contains: '/list' }, false, '/form.html'],
  ])('%j is %s', async (checked, holds, seen) => {
    await open('/form.html');
    const outcome = await check(checked);
    expect(outcome).toMatchObject({ holds, target: null });
    expect(outcome.seen).toContain(seen);
  });

  it('of a place looks at this place only, and describes it', async () => {
    await open('/form.html');
    const [name, agree, status] = [
      await refOf(session, '"Name"'),
      await refOf(session, '"Agree"'),
      await refOf(session, 'status'),
    ];
    const all = async (...checks: Check[]) =>
      (await Promise.all(checks.map((each) => check(each)))).map(({ holds, seen }) => [holds, seen]);
    expect(
      await all(
        { kind: 'value', place: { ref: name }, value: 'Ann' },
        { kind: 'value', place: { ref: name }, value: 'An' },
        { kind: 'value', place: { ref: agree }, value: 'checked' },
        { kind: 'text', place: { ref: status }, text: 'items left' },
        { kind: 'text', place: { ref: status }, text: 'Large' },
        { kind: 'no_text', place: { ref: status }, text: 'Large' },
      ),
    ).toEqual([
      [true, 'Ann'],
      [false, 'Ann'],
      [true, 'checked'],
      [true, '2 items left'],
      [false, '2 items left'],
      [true, '2 items left'],
    ]);
    expect(await check({ kind: 'value', place: { ref: name }, value: 'Ann' })).toMatchObject({
      target: { label: 'Name' },
    });
  });

  it('of a recorded element holds only for that one, whatever else is there', async () => {
    const target = await record('/', 'button "Add"');
    const place = { target };
    await open('/renamed');
    expect(await check({ kind: 'visible', place }, 1_000)).toMatchObject({ holds: false });
    expect(await check({ kind: 'hidden', place })).toMatchObject({ holds: true });
    expect(await check({ kind: 'text', text: 'Save', place }, 1_000)).toMatchObject({ holds: false, target: null });
    await open('/');
    expect(await check({ kind: 'visible', place })).toEqual({
      holds: true,
      seen: expect.stringContaining('is visible'),
      target,
    });
    expect(await check({ kind: 'hidden', place })).toMatchObject({ holds: false });
  });

  it('that something is gone does not hold while it is there under another name', async () => {
    const target = await record('/delete', 'button "Delete"');
    await open('/remove');
    expect(await check({ kind: 'hidden', place: { target } })).toMatchObject({ holds: false });
    await open('/renamed');
    expect(await check({ kind: 'hidden', place: { target } })).toMatchObject({ holds: true });
  });

  it('does not find a number in a longer one', async () => {
    await open('/total');
    const holds = async (text: string) => (await check({ kind: 'text', text, place: null })).holds;
    const texts = ['18.50', '118', '1 order', '118.50', '11 order', 'Total: 118.50, 11'];
    expect(await Promise.all(texts.map(holds))).toEqual([false, false, false, true, true, true]);
    const none: Check = { kind: 'no_text', text: '18.50', place: null };
    expect(await check(none)).toMatchObject({ holds: false });
  });

  it('looks at the page after the last action has taken effect', async () => {
    const click = async (name: string) => {
      await open('/total');
      await act(session, { action: 'click', place: { ref: await refOf(session, `button "${name}"`) } });
    };
    await click('Save');
    expect(await check({ kind: 'text', text: '118.50', place: null }, 1_000)).toMatchObject({ holds: false });
    await click('More');
    expect(await check({ kind: 'no_text', text: 'Late', place: null }, 1_000)).toMatchObject({ holds: false });
    await click('More');
    expect(await check({ kind: 'count', role: 'listitem', name: null, count: 1 }, 1_000)).toMatchObject({
      holds: false,
    });
    const startedAt = performance.now();
    expect(await check({ kind: 'text', text: '118.50', place: null }, 10_000)).toMatchObject({ holds: true });
    expect(performance.now() - startedAt, 'nothing is under way').toBeLessThan(10_000);
  });

  it('of a field finds it under another name, and says so', async () => {
    const target = await record('/', 'textbox "Task"');
    await open('/relabelled');
    const outcome = await check({ kind: 'value', place: { target }, value: '' }, 2_000);
    expect(outcome).toMatchObject({ holds: true, target: { name: 'To do' } });
  });

  it('waits until it holds', async () => {
    await open('/later');
    expect(await check({ kind: 'count', role: 'form', name: 'New task', count: 1 }, 5_000)).toMatchObject({
      holds: true,
    });
  });

  it('and an action wait longer for a page that waits for an answer: a slow server is no missing element', async () => {
    const target = await record('/', 'button "Add"');
    await act(impatient, { action: 'open', path: '/slow-answer' });
    expect(await act(impatient, { action: 'click', place: { target } })).toMatchObject({ found_by: 'role_and_name' });
    await open('/slow-answer');
    expect(await check({ kind: 'text', text: 'Task', place: null }, 100)).toMatchObject({ holds: true });
  });

  it('finds what does not fit a small window', async () => {
    await act(session, { action: 'resize', width: 390, height: 844 });
    const seen: Record<string, string> = {};
    for (const path of ['/fits', '/wide', '/cut']) {
      await open(path);
      const outcome = await check({ kind: 'fits' });
      expect(outcome.holds, path).toBe(path === '/fits');
      seen[path] = outcome.seen;
    }
    expect(seen).toEqual({
      '/fits': 'everything fits',
      '/wide': expect.stringContaining('px wide in a window of 390 px, for example div "Wide"'),
      '/cut': 'button "Pay now" is cut off by a surrounding element',
    });
    await act(session, { action: 'resize', width: 1_280, height: 800 });
  });
});

describe('a session', () => {
  /** A separate session, so its windows and failures do not interfere with other tests. */
  let other: Awaited<ReturnType<typeof openSession>>;
  beforeAll(async () => {
    other = await openSession(sessions, { url: app.url });
  });
  afterAll(() => other.close());

  it('answers dialogs, acts in the newest window, and keeps no more than five', async () => {
    await open('/asks');
    await act(session, { action: 'click', place: { ref: await refOf(session, 'button "Ask"') } });
    expect(await check({ kind: 'text', text: 'true,,', place: null })).toMatchObject({ holds: true });
    expect(
      session
        .evidence()
        .notes.map(({ text }) => text)
        .slice(-3),
    ).toEqual([
      'Accepted a dialog (confirm): Really?',
      'Dismissed a dialog (prompt): Name?',
      'Accepted a dialog (alert): x',
    ]);
    await act(other, { action: 'open', path: '/windows' });
    await act(other, { action: 'click', place: { ref: await refOf(other, 'button "Open"') } });
    expect(await other.check({ kind: 'url', contains: '/fits' }, never)).toMatchObject({ holds: true });
    await act(other, { action: 'open', path: '/windows' });
    await act(other, { action: 'click', place: { ref: await refOf(other, 'button "Many"') } });
    await expect
      .poll(() => other.evidence().notes.map(({ text }) => text))
      .toContain('A window was closed because 5 were already open.');
  });

  it('notes the errors of the page with their step, and not what we refused', async () => {
    await open('/faulty');
    session.beginStep(7);
    await act(session, { action: 'click', place: { ref: await refOf(session, 'button "Break"') } });
    await expect.poll(() => session.evidence().network_failures.length).toBe(2);
    await expect.poll(() => session.evidence().blocked).toEqual(['127.0.0.1:9999']);
    const { console_errors, page_errors, network_failures, cut } = session.evidence();
    expect(console_errors).toEqual([{ text: 'bad 1', step: 7 }]);
    expect(page_errors.map(({ text }) => text.split('\n')[0]).sort()).toEqual(['Error: rejected', 'Error: thrown']);
    expect(network_failures.toSorted((a, b) => a.url.localeCompare(b.url))).toEqual([
      { url: '/broken', method: 'GET', status: 500, reason: 'HTTP 500', step: 7 },
      { url: '/gone', method: 'GET', status: null, reason: expect.stringMatching(/^net::ERR_/), step: 7 },
    ]);
    expect(cut).toBe(false);
  });

  it('notes that one action created the same record twice, and no other repeated request', async () => {
    await open('/orders');
    for (const [number, name] of ['Once', 'Once', 'Two', 'Retry', 'Same', 'Load', 'Double', 'Then'].entries()) {
      session.beginStep(number + 1);
      await act(session, { action: 'click', place: { ref: await refOf(session, `button "${name}"`) } });
      await check({ kind: 'text', text: 'Double', place: null }, 5_000); // wait until the page is idle
    }
    expect(session.evidence().repeated_requests).toEqual([
      { url: '/order', method: 'POST', count: 2, step: 7 },
      { url: '/order', method: 'POST', count: 2, step: 8 },
    ]);
  });

  it('notes what fails after the last step, and no failure less because of many others', async () => {
    await act(other, { action: 'open', path: '/total' });
    await act(other, { action: 'click', place: { ref: await refOf(other, 'button "Send"') } });
    await other.settle();
    expect(other.evidence().network_failures).toMatchObject([{ url: '/late-error', status: 500 }]);
    await act(other, { action: 'open', path: '/many-refused' });
    await expect
      .poll(() => other.evidence().network_failures.map(({ url, reason }) => `${url} ${reason}`))
      .toContain('/broken HTTP 500 (2 times)');
    const { network_failures, cut } = other.evidence();
    expect([network_failures.filter(({ status }) => status === 404).length, cut]).toEqual([50, false]);
  });

  it('has pictures and a trace of bounded size', async () => {
    await act(session, { action: 'resize', width: 1_920, height: 1_200 });
    expect(sizeOf(await session.screenshot())).toEqual({ width: 1_280, height: 800 });
    await act(session, { action: 'resize', width: 390, height: 844 });
    expect(sizeOf(await session.screenshot())).toEqual({ width: 390, height: 844 });
    const trace = await session.endTrace();
    expect(trace?.subarray(0, 2).toString()).toBe('PK');
    expect(await session.endTrace()).toBeUndefined();
  });
});

describe('the end of a session', () => {
  it('frees its place: two sessions per process, one per owner', async () => {
    const signal = AbortSignal.timeout(300);
    const second = await openSession(sessions, { url: app.url, owner: 'w2' });
    const request = { id: crypto.randomUUID(), owner: 'w3', url: app.url, alsoAllowed: [], signal };
    expect(await sessions.open(request)).toEqual({ outcome: 'unavailable', reason: 'cancelled' });
    const next = openSession(sessions, { url: app.url, owner: 'w3' });
    await session.close();
    const third = await next;
    await third.close();
    expect(await processesOf(sessions, third.id)).toEqual([]);
    crashing = second;
  });

  it('is told when a page crashes, and nothing is left', async () => {
    failures.length = 0;
    const crashed = crashing;
    await act(crashed, { action: 'open', path: '/' });
    const running = await processesOf(sessions, crashed.id);
    expect(running).toContain(crashed.processId);
    const renderers = running.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer'));
    expect(renderers.length).toBeGreaterThan(0);
    for (const pid of renderers) process.kill(pid, 'SIGKILL');
    expect(await crashed.gone).toBe('crashed');
    await expect(crashed.act({ action: 'open', path: '/' }, never)).rejects.toThrow(SessionGone);
    await expect.poll(() => processesOf(sessions, crashed.id)).toEqual([]);
    await expect.poll(() => listFolders(crashed.id)).toEqual([]);
    expect(failures).toEqual(['crashed: the page crashed']);
  });

  it('kills a page that hangs, or one that says too much', async () => {
    failures.length = 0;
    const hanging = impatient;
    await act(hanging, { action: 'open', path: '/endless' });
    const place = { ref: await refOf(hanging, 'button "Hang"') };
    const clicking = hanging.act({ action: 'click', place }, never);
    clicking.catch(() => {});
    await hanging.close();
    await expect(clicking).rejects.toThrow(SessionGone);
    expect(await hanging.gone).toBe('closed');
    expect(await processesOf(sessions, hanging.id)).toEqual([]);
    expect(listFolders(hanging.id)).toEqual([]);

    const flooded = await openSession(sessions, { url: app.url });
    flooded.act({ action: 'open', path: '/flood' }, never).catch(() => {});
    expect(await flooded.gone).toBe('crashed');
    await expect.poll(() => processesOf(sessions, flooded.id)).toEqual([]);
    expect(failures).toEqual(['crashed: the page sent too much data']);
  });

  it('can be brought about from another process, even if the owner was killed and the browser does not exit', async () => {
    const killed = await openSession(sessions, { url: app.url });
    await act(killed, { action: 'open', path: '/' });
    process.kill(killed.processId, 'SIGKILL');
    // A check on a page whose browser no longer exists must not report that the text is missing.
    const shown = killed.check({ kind: 'text', text: 'Nowhere', place: null }, never, 0);
    await expect(shown).rejects.toThrow(SessionGone);
    await sessions.killOnHost(killed.id);
    expect(await processesOf(sessions, killed.id)).toEqual([]);
    expect(await killed.gone).toBe('crashed');

    const program = join(mkdtempSync(join(tmpdir(), 'plinth-test-')), 'owner.ts');
    const gateway = fileURLToPath(new URL('../../src/gateways/browser/session/index.ts', import.meta.url));
    const [exits, stays] = [crypto.randomUUID(), crypto.randomUUID()];
    writeFileSync(
      program,
      `import { openBrowserSessions } from ${JSON.stringify(gateway)};
      const sessions = openBrowserSessions({ executable: ${JSON.stringify(executable)}, noSandbox: false, onFailure: console.error });
      for (const id of ${JSON.stringify([exits, stays])})
        await sessions.open({ id, owner: id, url: ${JSON.stringify(app.url)}, alsoAllowed: [], signal: new AbortController().signal });
      process.send('opened');`,
    );
    const owner = fork(program, { execArgv: [] });
    await once(owner, 'message');
    const stopped = await processesOf(sessions, stays);
    expect((await processesOf(sessions, exits)).length).toBeGreaterThan(3);
    expect(stopped.length).toBeGreaterThan(3);
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    owner.kill('SIGKILL');
    await expect.poll(() => processesOf(sessions, exits)).toEqual([]);
    expect((await processesOf(sessions, stays)).length).toBe(stopped.length);
    await sessions.killOnHost(stays);
    expect(await processesOf(sessions, stays)).toEqual([]);
  });
});

it('a session without a browser is not opened, and says why', async () => {
  failures.length = 0;
  const request = {
    id: crypto.randomUUID(),
    owner: 'w1',
    url: 'http://app.localhost/',
    alsoAllowed: [],
    signal: never,
  };
  const broken = openBrowserSessions({ ...settings, executable: '/bin/false' });
  expect(await broken.open(request)).toEqual({ outcome: 'unavailable', reason: 'not_started' });
  expect(failures).toEqual([expect.stringContaining('not_started: Chromium exited (1)')]);
  await broken.close();
  expect(await broken.open(request)).toEqual({ outcome: 'unavailable', reason: 'cancelled' });
  const none = openBrowserSessions({ ...settings, executable: undefined });
  expect(none.configured).toBe(false);
  expect(await none.open(request)).toEqual({ outcome: 'unavailable', reason: 'not_configured' });
  expect(listFolders(request.id)).toEqual([]);
});

/** Responds as servers do: with a new record, with the first record if the request is repeated, or with an error. */
function createOrders() {
  let created = 0;
  return (request: IncomingMessage, response: ServerResponse) => {
    const body: Buffer[] = [];
    request.on('data', (chunk) => body.push(chunk));
    request.on('end', () => {
      const { what } = JSON.parse(Buffer.concat(body).toString() || '{}');
      created += 1;
      response.statusCode = what === 'refused' && created % 2 === 1 ? 409 : 200;
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: what === 'same' ? 0 : created }));
    });
  };
}

const listFolders = (id: string): string[] =>
  existsSync(tmpdir()) ? readdirSync(tmpdir()).filter((name) => name.includes(id.replaceAll('-', ''))) : [];

/** Reads a JPEG's dimensions from its first frame header. */
function sizeOf(image: Buffer) {
  for (let at = 2; at < image.length; at += 2 + image.readUInt16BE(at + 2))
    if (/^c[0-2]$/.test((image[at + 1] ?? 0).toString(16)))
      return { height: image.readUInt16BE(at + 5), width: image.readUInt16BE(at + 7) };
  return undefined;
}
