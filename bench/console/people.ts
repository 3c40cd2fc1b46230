// The people of the bench. Each goes through whole sessions in a browser, and writes down what they did and what the console
// told them. When something fails in front of them, they do what a person does: try again, or reload the page.
import type { Browser, Locator, Page } from 'playwright-core';
import { type Environment, linkTo, type Person, password } from './environment.ts';
import { type LabelLine, watchLabels } from './labels.ts';

export interface Session {
  readonly number: number;
  readonly person: Person;
  /** Why the session did not reach its end. Undefined if it did. */
  failure: string | undefined;
  ms: number;
  app_id: string;
  /** The messages that were sent, in their order. */
  readonly messages: string[];
  /** The revisions that the console said were saved. */
  readonly saved: number[];
  /** The revision that the console said is live. */
  live: number | undefined;
  /** The record that a user of the app wrote, and the records that the console showed of that user. */
  record: string;
  readonly shown: string[];
}

export interface Journal {
  readonly sessions: Session[];
  readonly labels: LabelLine[];
  reloads: number;
}

/** How long a person waits for something before they reload the page. */
const patienceMs = 20_000;
const maxReloads = 5;

export async function live(
  browser: Browser,
  { url, mail }: Environment,
  person: Person,
  number: number,
  journal: Journal,
): Promise<Session> {
  const startedAt = performance.now();
  const session: Session = {
    number,
    person,
    failure: undefined,
    ms: 0,
    app_id: '',
    messages: [],
    saved: [],
    live: undefined,
    record: `Water the plants, number ${number}`,
    shown: [],
  };
  journal.sessions.push(session);
  const contexts = await Promise.all([0, 1].map(() => browser.newContext({ viewport: { width: 1440, height: 900 } })));
  const [founder, visitor] = (await Promise.all(contexts.map((context) => context.newPage()))) as [Page, Page];
  const labels = watchLabels(founder, number, journal.labels);
  try {
    await build(founder, url, person, session, journal);
    const address = await publish(founder, session, journal);
    await useApp(visitor, address, mail, session, journal);
    await lookAtRecords(founder, url, session, journal);
  } catch (error) {
    session.failure = String(error).split('\n')[0] ?? 'unknown';
  }
  await labels.stop();
  await Promise.all(contexts.map((context) => context.close()));
  session.ms = performance.now() - startedAt;
  return session;
}

const button = (page: Page, name: string | RegExp): Locator =>
  page.getByRole('button', { name, exact: true }).filter({ visible: true }).first();
const text = (page: Page, words: string | RegExp): Locator => page.getByText(words).filter({ visible: true }).first();

/** Does something until the page shows what it leads to. */
async function until(page: Page, journal: Journal, shown: Locator, act?: () => Promise<unknown>): Promise<void> {
  for (let reloads = 0; ; ) {
    await act?.().catch(() => undefined);
    const end = Date.now() + patienceMs;
    while (Date.now() < end) {
      if (await shown.isVisible()) return;
      const again = page
        .getByRole('button', { name: /^(?:Try again|Look again|Ask again|Start the preview again)$/ })
        .first();
      if (await again.isVisible()) await again.click({ timeout: 1_000 }).catch(() => undefined);
      await page.waitForTimeout(200);
    }
    if (++reloads > maxReloads) throw new Error(`not shown: ${shown}`);
    journal.reloads += 1;
    await page.reload({ timeout: patienceMs }).catch(() => undefined);
    if ((await shown.isVisible()) === false) await page.waitForTimeout(2_000);
  }
}

const click = (locator: Locator) => () => locator.click({ timeout: 10_000 });

async function build(page: Page, url: string, person: Person, session: Session, journal: Journal): Promise<void> {
  const email = page.getByLabel('E-mail address');
  const prompt = page.getByLabel('What do you want to build?');
  await until(page, journal, email, () => page.goto(url));
  await until(page, journal, prompt, async () => {
    if (!(await email.isVisible())) return;
    await email.fill(person.email);
    await page.getByLabel('Password').fill(password);
    await button(page, 'Sign in').click();
    await page.waitForTimeout(5_100); // an attempt after another one is refused for five seconds
  });
  await ask(page, session, journal, {
    field: prompt,
    words: 'A task list with owners',
    press: 'Build',
    answer: 'Your task list is ready.',
  });
  session.app_id = /editor\/([^/]+)/.exec(page.url())?.[1] ?? '';
  await until(page, journal, text(page, 'It is set.'), async () => {
    if (!(await button(page, 'Everybody').isVisible())) return;
    if (!session.messages.includes('Everybody')) session.messages.push('Everybody');
    await button(page, 'Everybody').click();
  });
  await ask(page, session, journal, {
    field: page.getByLabel('Message to the assistant'),
    words: `Please add a due date, number ${session.number}`,
    press: 'Send',
    answer: 'Tasks have a due date now',
  });
  await until(page, journal, text(page, 'Revision 3'));
  const cards = page.getByRole('link').filter({ hasText: 'What changed' });
  for (const card of await cards.allInnerTexts()) session.saved.push(Number(/Revision (\d+)/.exec(card)?.[1]));
  await page.getByRole('link', { name: 'Preview', exact: true }).click();
  await until(page, journal, text(page, /^revision \d+, /));
  await goBack(page, session, journal);
}

interface Wish {
  readonly field: Locator;
  readonly words: string;
  readonly press: string;
  readonly answer: string;
}

/** A message that was not sent stays in its field, even if the page is loaded again. */
async function ask(
  page: Page,
  session: Session,
  journal: Journal,
  { field, words, press, answer }: Wish,
): Promise<void> {
  session.messages.push(words);
  await until(page, journal, text(page, answer), async () => {
    const isSent = (await page.getByRole('log').getByText(words, { exact: true }).count()) > 0;
    if (isSent || !(await field.isVisible())) return;
    await field.fill(words);
    await button(page, press).click({ timeout: 10_000 });
  });
}

async function goBack(page: Page, session: Session, journal: Journal): Promise<void> {
  const [first = 2] = session.saved;
  await page.getByRole('link', { name: 'Revisions', exact: true }).click();
  const restored = text(page, /^That is revision \d+ now|is as it was in revision/);
  const last = Math.max(...session.saved);
  // Whether it was done is read from the list, because the line that says so is gone after a while.
  const current = page.getByRole('heading', { name: `Revision ${last + 1}` });
  await until(page, journal, current.or(restored).first(), async () => {
    await page
      .getByRole('link', { name: new RegExp(`^Revision ${first}\\b`) })
      .last()
      .click({ timeout: 10_000 });
    await button(page, 'Restore').click({ timeout: 10_000 });
    await button(page, `Restore revision ${first}`).click({ timeout: 10_000 });
  });
  session.saved.push(last + 1);
}

async function publish(page: Page, session: Session, journal: Journal): Promise<string> {
  const done = page.getByRole('heading', { name: /^Revision \d+ is live$/ });
  await until(page, journal, done, async () => {
    if (!(await page.getByRole('dialog').isVisible()))
      await button(page, /^Publish(?:ed)?$/).click({ timeout: 10_000 });
    await button(page, /^Publish revision/).click({ timeout: 10_000 });
  });
  session.live = Number(/\d+/.exec(await done.innerText())?.[0]);
  const address = (await page.getByRole('dialog').getByRole('link').first().getAttribute('href')) ?? '';
  await button(page, 'Close').click();
  return address;
}

async function useApp(
  page: Page,
  address: string,
  mail: Environment['mail'],
  session: Session,
  journal: Journal,
): Promise<void> {
  const email = `ann-${session.number}@customers.example`;
  const task = page.getByLabel('New task');
  await until(page, journal, page.getByText('Create an account').first(), () => page.goto(address));
  const sent = page.getByText(/e-mail|mail/i).filter({ visible: true });
  await click(page.getByText('Create an account').first())();
  await page.getByLabel('Your name').filter({ visible: true }).fill(`Ann ${session.number}`);
  await page.getByLabel('E-mail address').filter({ visible: true }).fill(email);
  await page.getByLabel('Password').filter({ visible: true }).fill(password);
  for (let tries = 0; tries < 20 && !mail.inbox.some(({ to }) => to.includes(email)); tries += 1) {
    const create = page.getByRole('button', { name: 'Create account' }).filter({ visible: true });
    if (await create.isVisible()) await create.click({ timeout: 2_000 }).catch(() => undefined);
    await page.waitForTimeout(3_000);
  }
  await sent.first().isVisible();
  const link = await linkTo(mail, email);
  await until(page, journal, task, () => page.goto(link));
  await until(page, journal, page.getByRole('listitem').filter({ hasText: session.record }), async () => {
    await page.waitForTimeout(1_000);
    if ((await page.getByRole('listitem').filter({ hasText: session.record }).count()) > 0) return;
    await task.fill(session.record);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
  });
}

async function lookAtRecords(page: Page, url: string, session: Session, journal: Journal): Promise<void> {
  const seenAs = page.getByLabel('Seen as');
  const rows = page.getByRole('button', { name: /^Water the plants/ });
  await until(page, journal, rows.first(), async () => {
    await page.goto(`${url}/editor/${session.app_id}/data/Task`);
    await seenAs.selectOption({ index: 1 }, { timeout: 10_000 });
  });
  session.shown.push(...(await rows.allInnerTexts()));
}
