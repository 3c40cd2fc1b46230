// Follows an app from the first message to its users, in a real browser. The sandbox model builds a task list from the
// starter, the app is published, and users sign up, each with their own tasks. If PAGE_PICTURES names a folder,
// screenshots are saved there.
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { enter, expectAccessible, see, startBrowser } from './browser.ts';
import { startInstallation } from './installation.ts';

const model = await startModelSandbox();
afterAll(() => model.close());
const { manage, publish, linkTo, addUser } = await startInstallation({
  MODEL_URL: model.url,
  BROWSER_EXECUTABLE: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
});
const { visit } = await startBrowser();
const password = 'a long enough password';

const { id } = await manage('POST', '/api/apps', { name: 'Tasks' });

/** Sends a message to the builder and returns its reply with the tool calls. */
async function ask(content: string): Promise<{ content: string; tool_calls: { name: string; status: string }[] }> {
  const { conversation, status } = await manage('POST', `/api/apps/${id}/chat/message`, { content });
  expect(status).toMatchObject({ state: 'ready' });
  return conversation.messages.at(-1);
}

const failedCalls = (tool_calls: readonly { name: string; status: string }[]) =>
  tool_calls.filter(({ status }) => status !== 'success');

const built = await ask('I need a task list with owners');
const answered = await ask('Everybody');
const app = await publish(new Map(), { id });
await addUser(app, 'bob@customers.example', password, 'Bob');

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const tasks = (page: Page) => page.getByRole('list', { name: 'Tasks' }).getByRole('listitem');
const add = async (page: Page, title: string) => {
  await enter(page, 'New task', title);
  await press(page, 'Add');
  await tasks(page).filter({ hasText: title }).waitFor();
};
const picture = async (page: Page, name: string) => {
  const folder = process.env.PAGE_PICTURES;
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
};

describe('an app that is built by talking', () => {
  it('is made by real calls of the tools, each of which succeeds', () => {
    expect(failedCalls(built.tool_calls)).toEqual([]);
    const names = built.tool_calls.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['save_entity', 'edit_file', 'check_page', 'save_revision']));
    expect(built.content).toContain('Your task list is ready.');
  });

  it('asks who may create an account, and opens sign-up by the answer', async () => {
    expect(built.content).toMatch(/Who may create an account in this app: [^?]+\?$/);
    expect(answered.tool_calls.map(({ name, status }) => [name, status])).toEqual([['set_sign_up', 'success']]);
    expect(await manage('GET', `/api/apps/${id}/auth/settings`)).toMatchObject({ sign_up_in_effect: 'open' });
  });

  it('lets a person sign up, add, tick and delete tasks, and keeps them', async () => {
    await visit(app.url, async (page) => {
      await press(page, 'Create an account');
      await enter(page, 'Your name', 'Ann Archer');
      await enter(page, 'E-mail address', 'ann@customers.example');
      await enter(page, 'Password', password);
      await press(page, 'Create account');
      await see(page, 'Check your e-mail');
      await page.goto(await linkTo('ann@customers.example'));
      await see(page, 'No tasks yet.');
      await expectAccessible(page, 'no tasks');
      await add(page, 'Water the plants');
      await add(page, 'Buy <b>tea</b>');
      await page.getByLabel('Water the plants').first().check();
      await see(page, '1 of 2 to do');
      await expectAccessible(page, 'tasks');
      await picture(page, 'tasks');
      await page.reload();
      await see(page, '1 of 2 to do');
      expect(await page.getByLabel('Water the plants').first().isChecked()).toBe(true);
      expect(await tasks(page).allInnerTexts()).toEqual([
        expect.stringContaining('Buy <b>tea</b>'),
        expect.stringContaining('Water the plants'),
      ]);
      await press(page, 'Delete: Buy <b>tea</b>');
      await see(page, '0 of 1 to do');
      expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Delete: Water the plants');
    });
  });

  it('shows everybody their own tasks only, because the rules of the entity say so', async () => {
    await visit(app.url, async (page) => {
      await enter(page, 'E-mail address', 'bob@customers.example');
      await enter(page, 'Password', password);
      await press(page, 'Sign in');
      await see(page, 'No tasks yet.');
      const ofAnn = await manage('GET', `/api/apps/${id}/entities/Task?created_by=ann@customers.example`);
      expect(ofAnn.items).toEqual([]); // the rules also apply to managers, and this one owns no tasks
      await add(page, 'A task of Bob');
      await press(page, 'Sign out');
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect(await page.getByText('A task of Bob').count()).toBe(0);
    });
  });

  it('says what went wrong, and keeps what the server has', async () => {
    await visit(app.url, async (page) => {
      await page.waitForTimeout(5_100); // only one attempt per five seconds is allowed
      await enter(page, 'E-mail address', 'bob@customers.example');
      await enter(page, 'Password', password);
      await press(page, 'Sign in');
      await tasks(page).filter({ hasText: 'A task of Bob' }).waitFor();
      await page.route('**/entities/**', (route) => route.abort());
      await page.getByLabel('A task of Bob').first().click();
      await see(page, 'The server could not be reached.');
      expect(await page.getByLabel('A task of Bob').first().isChecked()).toBe(false);
      await expectAccessible(page, 'an error');
    });
  });

  it('is changed by a second message, with small edits', async () => {
    const changed = await ask('Please add a due date');
    expect(failedCalls(changed.tool_calls)).toEqual([]);
    expect(changed.tool_calls.map(({ name }) => name)).not.toContain('write_file');
    await publish(new Map(), { id });
    await visit(app.url, async (page) => {
      await page.waitForTimeout(5_100); // only one attempt per five seconds is allowed
      await enter(page, 'E-mail address', 'bob@customers.example');
      await enter(page, 'Password', password);
      await press(page, 'Sign in');
      await enter(page, 'Due date', '2027-03-01');
      await add(page, 'With a date');
      await see(page, 'due 3/1/2027');
      await expectAccessible(page, 'due dates');
      for (const [colorScheme, width] of [
        ['light', 1280],
        ['dark', 360],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
        await expectAccessible(page, `due dates, ${colorScheme}`);
        await picture(page, `tasks-${colorScheme}-${width}`);
      }
    });
  });

  it('stays as it is if the model has nothing to play', async () => {
    const before = await manage('GET', `/api/apps/${id}`);
    const reply = await ask('A shop for shoes');
    expect(reply.content).toContain('“A task list with owners”');
    expect((await manage('GET', `/api/apps/${id}`)).revision).toBe(before.revision);
  });
});
