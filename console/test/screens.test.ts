// Tests the screens of the console one by one, on a real installation in a real browser: each by axe in both themes and on
// a phone, what the keyboard does, what is said when something is refused or not known, and that nothing is lost when
// two people change the same file.
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { desktop, enter, phone } from '../../server/test/e2e/browser.ts';
import { callTools, say } from '../../server/test/support/chat.ts';
import { call } from '../../server/test/support/client.ts';
import { expectGoodScreen, follow, press, see, startConsole } from './console.ts';

const { url, mail, manage, model, visit, workspace } = await startConsole();
const anything = '01a1f2e7-054f-76c5-bf27-1112f5a1b1e4';

const own = { created_by_id: '{{user.id}}' };
const task = { name: 'Task', properties: { title: { type: 'string' } }, rls: { read: own, write: own } };

/** Creates an app with a page, an entity and a record. */
async function createApp(name: string): Promise<{ id: string }> {
  const app = await manage('POST', '/api/apps', { name, public_settings: 'public_without_login' });
  const files = [{ path: 'public/index.html', content: '<!doctype html><title>Shop</title><h1>Shop</h1>' }];
  await manage('PUT', `/api/apps/${app.id}/files`, { files });
  await manage('PUT', `/api/apps/${app.id}/entity-schemas/Task`, task);
  await manage('POST', `/api/apps/${app.id}/entities/Task`, { title: 'Water the plants' });
  return app;
}
const app = await createApp('Orders');
await manage('POST', `/api/apps/${app.id}/users`, { email: 'ann@customers.example', full_name: 'Ann Archer' });

describe('each screen has no faults that axe finds, and fits a phone', () => {
  it.each([
    ['sign-in', '/', 'Sign in'],
    ['home', `/w/${workspace}`, 'Orders'],
    ['apps', `/w/${workspace}/apps`, 'Orders'],
    ['trash', `/w/${workspace}/trash`, 'The trash is empty.'],
    ['account', '/account/profile', 'owner@example.com'],
    ['components', '/account/components', 'Panel: Partial'],
    ['files', `/editor/${app.id}/files?path=public/index.html`, 'Save'],
    ['users', `/editor/${app.id}/users`, 'ann@customers.example'],
    ['settings', `/editor/${app.id}/settings`, 'No secrets are stored.'],
    ['an app that is not there', `/editor/${anything}/preview`, 'All apps'],
  ])('%s', async (name, path, text) => {
    const { page, errors } = await visit(path, { isSignedIn: name !== 'sign-in' });
    await see(page, text);
    await expectGoodScreen(page, name);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

describe('the keyboard', () => {
  it('leads from the palette to an app, and with pairs of letters to its tabs', async () => {
    const { page } = await visit(`/w/${workspace}`);
    await page.getByRole('heading', { name: 'What do you want to build?' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.type('orders');
    await page.getByRole('option', { name: 'Orders app' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/editor/${app.id}/preview`);
    await page.getByRole('link', { name: 'Users', exact: true }).focus();
    await page.keyboard.type('gd');
    await page.waitForURL(`**/editor/${app.id}/data/Task`);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('theme: dark');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('publish');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Publish “Orders”' }).waitFor();
    await page.getByRole('dialog', { name: 'Go to' }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Publish “Orders”' }).waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' });
    await page.goto(`${url}/account/profile`);
    await see(page, 'Signed-in browsers');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('credit');
    await page.getByRole('option', { name: 'Account page' }).waitFor();
    await page.context().close();
  });
});

describe('what a panel says', () => {
  it('waits visibly for a slow answer, and shows it when it comes', async () => {
    const { page } = await visit(`/w/${workspace}/apps`);
    await see(page, 'Orders');
    const slow = Promise.withResolvers<void>();
    await page.route('**/api/apps?*deleted=true*', (route) => slow.promise.then(() => route.continue()));
    await follow(page, 'Trash');
    await see(page, 'Still waiting for the server.');
    slow.resolve();
    await see(page, 'The trash is empty.');
    await page.context().close();
  });

  it('keeps what was read when the server is gone, and says how old it is', async () => {
    const { page } = await visit(`/w/${workspace}/apps`);
    await see(page, 'Orders');
    await page.route('**/api/**', (route) => route.abort());
    await page.getByRole('searchbox').fill('Ord');
    await see(page, "The server can't be reached.");
    await page.unroute('**/api/**');
    await press(page, 'Try again');
    await see(page, 'Orders');
    await page.context().close();
  });

  it('explains a refusal with its code and the id of the request', async () => {
    const { page } = await visit(`/editor/${app.id}/revisions/999`);
    await see(page, "This isn't here. It may have been deleted, or you may not see it.");
    await press(page, 'Details');
    await see(page, /getRevision 404 revision_not_found/);
    await page.context().close();
  });

  it('does not claim to know how a change ended whose connection broke, and a repeat does it once', async () => {
    const { page } = await visit(`/w/${workspace}/apps`);
    await see(page, 'Orders');
    await press(page, 'New folder');
    await page.getByRole('dialog').getByLabel('Name').fill('Shops');
    await page.route(/\/api\/app-folders/, (route) =>
      route.request().method() === 'POST' ? route.abort() : route.continue(),
    );
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const said = page.getByRole('dialog').getByRole('alert');
    await said.waitFor();
    expect(await said.innerText()).toContain("We don't know yet whether this took effect.");
    await page.unroute(/\/api\/app-folders/);
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: /^Shops/ }).waitFor();
    expect(await page.getByRole('link', { name: /^Shops/ }).count()).toBe(1);
    await page.context().close();
  });
});

describe('folders and the trash', () => {
  it('files an app, moves another to the trash, and restores it', async () => {
    await createApp('Old shop');
    const { page } = await visit(`/w/${workspace}/apps`);
    await see(page, 'Old shop');
    await page.getByRole('button', { name: 'What to do with Old shop' }).click();
    await page.getByRole('menuitem', { name: 'Move to the trash' }).click();
    await press(page, 'Move to the trash');
    await see(page, '“Old shop” is in the trash.');
    await follow(page, 'Trash');
    await press(page, 'Restore');
    await see(page, '“Old shop” is back among the apps.');
    await page.context().close();
  });
});

describe('signing in', () => {
  it('says when to try again after too many attempts, and keeps the address for a new password', async () => {
    const { page } = await visit('/', { isSignedIn: false });
    await enter(page, 'E-mail address', 'forgetful@example.com');
    for (let attempt = 0; attempt < 6; attempt += 1) {
      await enter(page, 'Password', `wrong password ${attempt}`);
      await press(page, 'Sign in');
      await page.getByRole('alert').waitFor();
    }
    await see(page, /with this e-mail address or from your network\. You can try again in 1[45] minutes\.$/);
    await expectGoodScreen(page, 'too many attempts');
    await press(page, 'Forgotten your password?');
    const address = page.getByLabel('E-mail address');
    expect(await address.inputValue()).toBe('forgetful@example.com');
    await address.fill('forgetful@example.org');
    await press(page, 'Back to sign-in');
    expect(await address.inputValue()).toBe('forgetful@example.org');
    await page.context().close();
  });
});

describe('the users of an app', () => {
  it('are added without a mail, told how to sign in, looked through, and removed', async () => {
    const club = await createApp('Club');
    const { page, errors } = await visit(`/editor/${club.id}/users`);
    await press(page, 'Add a person');
    const dialog = page.getByRole('dialog');
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('email');
    await dialog.getByLabel('E-mail address').fill('ann@customers.example');
    await dialog.getByLabel('Name').fill('Ann Archer');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await see(page, /^No mail was sent to them\./);
    await see(page, /^The app has no address yet\./);
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await dialog.waitFor({ state: 'detached' });
    const { url: live } = await manage('POST', `/api/apps/${club.id}/deploy`);
    await page.reload();
    const choose = async (what: string) => {
      await page.getByRole('button', { name: 'What to do with Ann Archer' }).click();
      await page.getByRole('menuitem', { name: what }).click();
    };
    await choose('How they sign in');
    await see(page, `Open ${live}`);
    await see(page, /If you have a password, enter the address ann@customers\.example/);
    await expectGoodScreen(page, 'what to tell');
    await page.evaluate(`
      titles = new Set();
      new MutationObserver(() => document.querySelectorAll('[role=dialog] h2, [role=alertdialog] h2').forEach(
        ({ textContent }) => titles.add(textContent),
      )).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    `);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await choose('Remove from the app');
    await press(page, 'Cancel');
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('[...titles]')).toEqual([
      'How ann@customers.example signs in',
      'Remove Ann Archer from the app?',
    ]);

    const [{ id }] = (await manage('GET', `/api/apps/${club.id}/users`)).items;
    const cost = { type: 'number', rls: { read: { user_condition: { role: 'admin' } } } };
    const withCost = { ...task, properties: { ...task.properties, cost } };
    await manage('PUT', `/api/apps/${club.id}/entity-schemas/Task`, withCost);
    const { token } = await manage('POST', `/api/apps/${club.id}/users/${id}/tokens`);
    const entered = { as: token, body: { title: 'Bring cake', cost: 5 } };
    expect((await call(url, 'POST', `/api/apps/${club.id}/entities/Task`, entered)).status).toBe(200);
    await page.goto(`${url}/editor/${club.id}/data/Task`);
    await see(page, '2 records');
    await page.getByRole('cell', { name: /\(your team\)$/ }).waitFor();
    await page.getByLabel('Search the records').fill('CAKE');
    await see(page, '1 record with “CAKE”');
    await expectGoodScreen(page, 'all records');
    const held = Promise.withResolvers<void>();
    await page.route('**/all?*limit=1000*', (route) =>
      held.promise.then(() => route.continue()).catch(() => undefined),
    );
    await press(page, 'Download as CSV');
    await see(page, '0 records read…');
    await press(page, 'Cancel the download');
    held.resolve();
    const [file] = await Promise.all([page.waitForEvent('download'), press(page, 'Download as CSV')]);
    expect(file.suggestedFilename()).toBe('Task.csv');
    expect(await readFile(await file.path(), 'utf8')).toMatch(
      /^\uFEFF"Title","Cost","Created by","Added","Id"\r\n"Bring cake",5,"Ann Archer","[^,]+","[^,]+"\r\n$/,
    );
    await page.getByRole('button', { name: 'Bring cake' }).click();
    await page.getByRole('button', { name: 'See it as Ann Archer' }).click();
    await page.waitForURL(`**/data/Task?as=${id}`);
    await page.getByRole('cell', { name: 'hidden or empty' }).waitFor();
    await page.getByRole('button', { name: 'Bring cake' }).click();
    await dialog.getByText('Bring cake').waitFor();
    await dialog.getByText('empty, or not shown to this user').waitFor();
    expect(await dialog.getByText('Created by id').isVisible()).toBe(false);
    await dialog.getByText('Technical details').click();
    await dialog.getByText('Created by id').waitFor();
    await expectGoodScreen(page, 'record');

    await page.goto(`${url}/editor/${club.id}/users`);
    const refusal = { status: 403, code: 'role_required', message: 'Ask an editor.', request_id: 'r1' };
    await page.route(`**/users/${id}`, (route) => route.fulfill({ status: 403, json: refusal }), { times: 1 });
    await choose('Remove from the app');
    await press(page, 'Remove');
    const stays = /^Ann Archer was not removed\./;
    await see(page, stays);
    await page.setViewportSize(phone);
    await press(page, 'Add a person');
    await dialog.getByText(stays).waitFor();
    // A button that something else covers can't be clicked.
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await see(page, stays);
    await page.setViewportSize(desktop);
    await choose('Remove from the app');
    await press(page, 'Remove');
    await see(page, 'Ann Archer is removed from the app.');
    await see(page, 'Nobody has an account in this app yet.');
    await follow(page, 'Data');
    await page.getByRole('cell', { name: 'removed user' }).waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

describe('the first minute', () => {
  it('in a new workspace has one sentence and one button, which builds an example', async () => {
    const { page, errors } = await visit('/');
    const created = await page.evaluate(`fetch('/api/workspaces', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"Fresh"}' }).then((got) => got.json())`);
    await page.goto(`${url}/w/${(created as { id: string }).id}`);
    await see(page, /^Nothing is built here yet: describe your first app above/);
    await expectGoodScreen(page, 'first minute');
    await page.getByText('How to connect a language model').click();
    await see(page, /MODEL_URL=https:/);
    await page.getByRole('button', { name: 'Copy the lines' }).waitFor();
    await expectGoodScreen(page, 'connect a model');
    await page.getByRole('button', { name: /^Build “/ }).click();
    await page.waitForURL('**/editor/*/preview');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('begins by a link for a password, which signs in and leads back to where the person was going', async () => {
    const email = 'ben@example.com';
    const newest = () => /http\S+#(\S+)/.exec(mail.inbox.findLast(({ to }) => to.includes(email))?.text ?? '') ?? [];
    await manage('POST', '/api/workspace/invitations/invite', { email, role: 'editor' });
    const joining = { invitation_token: newest()[1], full_name: 'Ben', password: 'a long enough password' };
    expect((await call(url, 'POST', '/api/invitations/accept', { body: joining })).status).toBe(200);
    const { page } = await visit(`/editor/${app.id}/users`, { isSignedIn: false });
    await press(page, 'Forgotten your password?');
    await enter(page, 'E-mail address', email);
    await press(page, 'Send the link');
    await page.getByRole('link', { name: 'Open the inbox' }).waitFor();
    await expectGoodScreen(page, 'link sent');
    await expect.poll(() => newest()[0]).toContain('/reset-password#');
    await page.goto(newest()[0] ?? '');
    await enter(page, 'New password', 'another long password');
    await press(page, 'Set password');
    await page.waitForURL(`${url}/editor/${app.id}/users`);
    await see(page, `Your password is set, and you are signed in as ${email}.`);
    await see(page, 'ann@customers.example');
    await page.context().close();
  });
});

describe('files', () => {
  const path = 'public/index.html';

  it('that two people change at the same time lose nothing: the second one decides', async () => {
    const address = `/editor/${app.id}/files?path=${encodeURIComponent(path)}`;
    const [ann, ben] = await Promise.all([visit(address), visit(address)]);
    const [hers, his] = [ann, ben].map(({ page }) => page.getByLabel(`Content of ${path}`));
    await hers?.fill('<h1>Hers</h1>');
    await his?.fill('<h1>His</h1>');
    await press(ann.page, 'Save');
    await see(ann.page, /^Saved as revision/);
    await press(ben.page, 'Save');
    await see(ben.page, 'Somebody else has changed this file. Nothing was overwritten, and your text is still here.');
    expect(await his?.inputValue()).toBe('<h1>His</h1>');
    await ben.page.reload();
    expect(await his?.inputValue()).toBe('<h1>His</h1>');
    await ben.page.getByRole('button', { name: /^Keep yours/ }).click();
    await press(ben.page, 'Save');
    await see(ben.page, /^Saved as revision/);
    const stored = await manage('GET', `/api/apps/${app.id}/files/content?path=${path}`);
    expect(stored.content).toBe('<h1>His</h1>');
    await Promise.all([ann.page.context().close(), ben.page.context().close()]);
  });

  it('are created, opened and deleted', async () => {
    const { page } = await visit(`/editor/${app.id}/files`);
    await press(page, 'New file');
    await enter(page, 'Path', 'public/about.html');
    await press(page, 'Create');
    await page.getByLabel('Content of public/about.html').fill('<h1>About</h1>');
    await page.keyboard.press('Control+s');
    await see(page, /^Saved as revision/);
    await press(page, 'Delete public/about.html');
    await press(page, 'Delete the file');
    await see(page, 'public/about.html is deleted.');
    expect(await page.getByRole('link', { name: 'about.html' }).count()).toBe(0);
    await page.context().close();
  });
});

describe('a request that the stand-in for a language model does not know', () => {
  it('is warned of before it is sent, at home and in the chat, and can be sent all the same', async () => {
    const { page } = await visit(`/w/${workspace}`);
    const warning = page.getByText('No language model is connected.');
    await enter(page, 'What do you want to build?', 'A booking page');
    await warning.waitFor();
    await expectGoodScreen(page, 'home-warning');
    const wish = page.getByLabel('What do you want to build?');
    await press(page, 'Use “A task list with owners” instead');
    await warning.waitFor({ state: 'detached' });
    expect(await wish.inputValue()).toBe('A task list with owners');
    await page.reload();
    await expectGoodScreen(page, 'home-replaced');
    await press(page, 'Back to what you wrote');
    await warning.waitFor();
    expect(await wish.inputValue()).toBe('A booking page');
    await press(page, 'Build');
    await see(page, 'There is nothing to show yet');
    await page.getByRole('button', { name: 'A task list with owners' }).waitFor();
    expect(await page.getByRole('button', { name: 'Please add a due date' }).count()).toBe(0);
    await enter(page, 'Message to the assistant', 'Paint it green');
    await see(
      page,
      "To a request in your own words it most likely answers that it can't do that, and nothing changes.",
    );
    await press(page, 'Use “A task list with owners” instead');
    await expectGoodScreen(page, 'chat-replaced');
    await press(page, 'Back to what you wrote');
    expect(await page.getByLabel('Message to the assistant').inputValue()).toBe('Paint it green');
    await page.context().close();
  });
});

describe('publishing', () => {
  it('is refused with a reason while an app has no files', async () => {
    const empty = await manage('POST', '/api/apps', { name: 'Empty' });
    const { page } = await visit(`/editor/${empty.id}/settings`);
    await press(page, 'Publish');
    await see(page, 'This app has no files, so there is nothing to publish.');
    expect(await page.getByRole('button', { name: 'Publish revision 1' }).isDisabled()).toBe(true);
    await page.context().close();
  });

  it('is not offered again for the revision that is live: the app can be opened and its address copied', async () => {
    const shop = await createApp('Open shop');
    const { url: address } = await manage('POST', `/api/apps/${shop.id}/deploy`);
    const { page } = await visit(`/editor/${shop.id}/settings`, { permissions: ['clipboard-read', 'clipboard-write'] });
    await press(page, 'Published');
    await see(page, 'There is nothing new to publish.');
    await expectGoodScreen(page, 'published-already');
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: /^Publish/ }).count()).toBe(0);
    expect(await dialog.getByRole('link', { name: 'Open the app' }).getAttribute('href')).toBe(address);
    await dialog.getByRole('button', { name: 'Copy address' }).click();
    await dialog.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(address);
    await page.context().close();
  });
});

describe('the settings of a published app', () => {
  it('ask before its address changes and before it opens to everybody, and say what was saved', async () => {
    const shop = await createApp('Moving shop');
    const path = `/api/apps/${shop.id}`;
    const { url: old } = await manage('POST', `${path}/deploy`);
    const { page, errors } = await visit(`/editor/${shop.id}/settings`);
    await see(page, 'Only this computer can open it.');
    await enter(page, 'Name in the address', 'Our Shop');
    await press(page, 'Save');
    await see(page, 'Use lower-case letters, digits and hyphens: for example our-shop.');
    await expectGoodScreen(page, 'refused name');
    await enter(page, 'Name in the address', 'our-shop');
    await press(page, 'Save');
    const dialog = page.getByRole('alertdialog');
    await dialog.getByText(old, { exact: true }).waitFor();
    await expectGoodScreen(page, 'other address');
    expect((await manage('GET', path)).published.url).toBe(old);
    await press(page, 'Change the address');
    await see(page, /^Saved\. The app is now at .+\. The old address no longer works\.$/);
    const { url: address } = (await manage('GET', path)).published;
    expect(address).not.toBe(old);
    await page.getByRole('link', { name: address }).waitFor();
    await see(page, `Saved. The app is now at ${address}. The old address no longer works.`);

    const audience = page.getByLabel('Who may use the app');
    await audience.selectOption('private_with_login');
    await see(page, 'Saved. Who may use the app: people it is shared with, after signing in.');
    await audience.selectOption('public_without_login');
    await dialog.getByText(/The app is published, so this takes effect at once\./).waitFor();
    await expectGoodScreen(page, 'opening');
    await press(page, 'Cancel');
    await dialog.waitFor({ state: 'detached' });
    expect((await manage('GET', path)).public_settings).toBe('private_with_login');

    const share = async (email: string) => {
      await page.locator('#sharing').getByLabel('E-mail address').fill(email);
      await press(page, 'Share');
    };
    await share('gina@example.com');
    await see(page, 'They get a mail with an invitation, unless they have one already. You can also send them this:');
    await see(page, /^I have shared the app “.+” with you\.\nOpen the link in the mail/);
    await page.getByRole('button', { name: 'Copy the text' }).waitFor();
    await expectGoodScreen(page, 'shared');
    mail.behave('refusing');
    await share('hans@example.com');
    await see(page, 'No mail could be sent to them, so they do not know of it yet.');
    await press(page, 'Create a link to send them');
    await see(page, /accept the invitation: http\S+\/invitations#/);
    mail.behave('well');

    await page.goto(`${url}/editor/${shop.id}/users`);
    await page.getByRole('button', { name: /^Everybody/ }).click();
    await dialog.waitFor();
    expect((await manage('GET', `${path}/auth/settings`)).sign_up).not.toBe('open');
    await press(page, 'Let everybody sign up');
    await see(page, 'Saved. Who may create an account: everybody.');
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

describe('a preview', () => {
  const label = 'As whom the app is shown';

  it('names the revision of its page, follows the app, and lets the assistant mend errors', async () => {
    const shop = await createApp('Faulty shop');
    const path = `/api/apps/${shop.id}`;
    model.scriptFor('shows an error', () => say('I look at it.'));
    await manage('POST', `${path}/users`, { email: 'ann@customers.example', full_name: 'Ann Archer' });
    const write = (content: string) => manage('PUT', `${path}/files/content?path=public/index.html`, { content });
    await write('<!doctype html><title>Shop</title><h1>Shop</h1><script>countTheTill()</script>');
    const { revision } = await manage('GET', path);
    const { page } = await visit(`/editor/${shop.id}/preview`);
    await see(page, `revision ${revision}, not published`);
    await see(page, /countTheTill is not defined, in/);
    await expectGoodScreen(page, 'preview-error');
    await press(page, 'Ask the assistant to fix this');
    await see(page, /^The preview of revision \d+ shows an error/);
    await see(page, 'I look at it.');
    await write('<!doctype html><title>Shop</title><h1>Open</h1>');
    await see(page, `revision ${revision + 1}, not published`);
    await page.getByRole('region', { name: 'Errors of the page' }).waitFor({ state: 'detached' });
    await page.frameLocator('iframe').getByRole('heading', { name: 'Open' }).waitFor();
    const created = page.waitForResponse(
      (response) => response.request().method() === 'POST' && response.url().endsWith('/previews'),
    );
    await page.getByLabel(label).selectOption({ label: 'Ann Archer' });
    await page.waitForURL(/user=/);
    await created; // whom a preview could not be signed in as is not remembered
    await follow(page, 'Users');
    await see(page, 'ann@customers.example');
    await follow(page, 'Preview');
    await page.waitForURL(/preview.*user=/);
    await see(page, `revision ${revision + 1}, not published`);
    await page.getByLabel(label).selectOption({ label: 'Not signed in' });
    await page.waitForURL(/preview$/);
    await see(page, `revision ${revision + 1}, not published`);
    await page.goto(`${url}/editor/${shop.id}/preview?rev=${revision}`);
    await see(page, 'This is an earlier revision.');
    await see(page, `revision ${revision}, not published`);
    await page.context().close();
  });

  it('says so if a page does not name its revision', async () => {
    const bare = await createApp('Bare');
    await manage('DELETE', `/api/apps/${bare.id}/files/content?path=public/index.html`);
    const { page } = await visit(`/editor/${bare.id}/preview`);
    await see(page, 'This page does not say which revision it is of');
    await see(page, 'revision not known');
    await page.context().close();
  });
});

describe('an earlier revision', () => {
  it('says what restoring it changes and opens, and restoring it loses no other one', async () => {
    const old = await createApp('Old days');
    const path = `/api/apps/${old.id}`;
    const open = { ...task, rls: { read: true, write: own } };
    await manage('PUT', `${path}/entity-schemas/Task`, open);
    const { revision } = await manage('GET', path);
    await manage('PUT', `${path}/entity-schemas/Task`, task);
    await manage('PUT', `${path}/files/content?path=public/index.html`, { content: '<h1>New</h1>' });
    const { page } = await visit(`/editor/${old.id}/revisions/${revision}`);
    await press(page, 'Restore');
    const dialog = page.getByRole('dialog', { name: `Go back to revision ${revision}?` });
    await dialog.getByText('Who may read records of “Task”: everybody, even without signing in.').waitFor();
    await dialog.getByText('1 file changes').click();
    await dialog.getByText('public/index.html').waitFor();
    const restore = dialog.getByRole('button', { name: `Restore revision ${revision}` });
    expect(await restore.isDisabled()).toBe(true);
    await dialog.getByText('everybody, even without signing in, read “Task”').waitFor();
    await expectGoodScreen(page, 'restore');
    await dialog.getByRole('checkbox').check();
    await restore.click();
    await see(page, `The app is as it was in revision ${revision}. That is revision ${revision + 3} now.`);
    const read = async (number: number) =>
      (await manage('GET', `${path}/files?revision=${number}`)).items.map(
        ({ path, sha256 }: { path: string; sha256: string }) => ({ path, sha256 }),
      );
    expect(await read(revision + 3)).toEqual(await read(revision));
    expect(await read(revision + 2)).not.toEqual(await read(revision));
    await press(page, 'Look at it');
    await page.waitForURL(`**/editor/${old.id}/preview`);
    await page.context().close();
  });
});

describe('a rule that the assistant proposes', () => {
  it('opens data only after a person has agreed', async () => {
    const open = { ...task, rls: { read: true, write: own } };
    model.scriptFor('Open the tasks', ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? say('I proposed it.')
        : callTools(['save_entity', { name: 'Task', schema: open }]),
    );
    const readRule = async () => (await manage('GET', `/api/apps/${app.id}/entity-schemas/Task`)).schema.rls.read;
    const { page } = await visit(`/editor/${app.id}/preview`);
    await enter(page, 'Message to the assistant', 'Open the tasks to everybody');
    await press(page, 'Send');
    await page.getByRole('region', { name: 'A decision about your data' }).first().waitFor();
    expect(await readRule()).toEqual(own);
    await expectGoodScreen(page, 'held-rule');
    await press(page, 'Let it take effect');
    await see(page, 'The rule is in effect.');
    expect(await readRule()).toBe(true);
    await page.context().close();
  });
});

describe('a turn that runs', () => {
  it('is shown to another editor, survives reloads, and can be stopped', async () => {
    model.scriptFor('Take your time', () => say('word '.repeat(2_000)));
    const [ann, ben] = await Promise.all([visit(`/editor/${app.id}/preview`), visit(`/editor/${app.id}/preview`)]);
    model.behave('slow');
    await enter(ann.page, 'Message to the assistant', 'Take your time');
    await ann.page.keyboard.press('Control+Enter');
    await see(ben.page, 'Take your time');
    await see(ben.page, /^Working on Orders/);
    for (let reload = 0; reload < 3; reload += 1) {
      await ann.page.reload();
      await see(ann.page, /^Working on Orders/);
      await see(ann.page, 'Take your time');
      expect(await ann.page.getByText('Take your time').count()).toBe(1);
    }
    await press(ben.page, 'Stop');
    await see(ben.page, 'Stopped. Nothing of this turn was saved.');
    await ann.page.getByText(/^Working on Orders/).waitFor({ state: 'detached' });
    model.behave('well');
    await Promise.all([ann.page.context().close(), ben.page.context().close()]);
  });
});

describe('a message whose answer was lost', () => {
  it('is checked, and sent only if it had not arrived', async () => {
    const quiet = await createApp('Quiet');
    const { page } = await visit(`/editor/${quiet.id}/preview`);
    for (const [content, isLost, result] of [
      ['Hello once', false, 'Your message had not arrived. It is sent now.'],
      ['Hello twice', true, 'Your message had arrived. Nothing was sent a second time.'],
    ] as const) {
      model.scriptFor(content, () => say('Good day.'));
      await page.route('**/chat/message', async (route) => {
        if (isLost) await route.fetch();
        await route.abort();
      });
      await enter(page, 'Message to the assistant', content);
      await press(page, 'Send');
      await see(page, 'Your message may not have arrived');
      await page.unroute('**/chat/message');
      await press(page, 'Check, and send if it did not arrive');
      await see(page, result);
      expect(await page.getByLabel('Message to the assistant').inputValue()).toBe('');
      await expect.poll(() => page.getByText('Good day.').count()).toBe(isLost ? 2 : 1);
      expect(await page.getByText(content, { exact: true }).count()).toBe(1);
    }
    await expectGoodScreen(page, 'checked');
    await page.context().close();
  });
});

describe('a token', () => {
  it('is shown once, works, and is gone from the page', async () => {
    const { page } = await visit('/account/tokens');
    await enter(page, 'Name of the token', 'build server');
    await press(page, 'Create a token');
    const dialog = page.getByRole('dialog', { name: 'Your new token' });
    const token = await dialog.getByText(/^plp_/).innerText();
    expect((await call(url, 'GET', '/api/apps', { as: token })).status).toBe(200);
    await press(page, 'I have it');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(token);
    expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).not.toContain(token);
    await press(page, 'Revoke');
    await press(page, 'Revoke the token');
    await see(page, '“build server” is revoked.');
    expect((await call(url, 'GET', '/api/apps', { as: token })).status).toBe(401);
    await page.context().close();
  });
});

describe('pages that the console does not have yet', () => {
  it.each([
    ['/device', 200],
    [`/editor/${app.id}/sessions/${anything}`, 200],
    ['/operator/health', 404],
  ])('%s answers %i', async (path, status) => {
    const got = await call(url, 'GET', path, { headers: { accept: 'text/html' } });
    expect(got.status).toBe(status);
    expect(got.text).not.toContain('/console/assets/');
  });
});

describe('policy and requests', () => {
  it('a violation of the content security policy is noticed by these tests', async () => {
    const { page, errors } = await visit(`/w/${workspace}`);
    await page.evaluate('document.body.setAttribute("style", "color: red")');
    await expect.poll(() => errors.join()).toContain('Content Security Policy');
    await page.context().close();
  });

  it('the first view of home asks the API no more often than it must', async () => {
    const { page, requests } = await visit(`/w/${workspace}`);
    await see(page, 'Orders');
    await page.waitForTimeout(500);
    expect(requests.length).toBeLessThanOrEqual(6);
    await page.context().close();
  });
});
