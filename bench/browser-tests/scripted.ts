// Owns the steps of a flow as somebody would script them: directly in playwright-core, by role and name, without Plinth.
import type { Browser, Locator, Page } from 'playwright-core';
import type { RecordedCall } from '../../sandbox/src/demo-shop/recorded-call.ts';

type Role = Parameters<Page['getByRole']>[0];

const timeout = 5_000;

/**
 * Opens the page in a new context, takes the steps, and a picture after each if `pictures` says so. Returns the milliseconds from
 * the opened page to the end of the last step.
 */
export async function runScripted(
  browser: Browser,
  url: string,
  calls: readonly RecordedCall[],
  visitor: { readonly email: string; readonly password: string },
  pictures: boolean,
): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    const look = async () => pictures && page.screenshot({ type: 'jpeg', quality: 60 });
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(url);
    await look();
    const openedAt = performance.now();
    for (const call of calls) {
      await take(page, call, visitor);
      await look();
    }
    return performance.now() - openedAt;
  } finally {
    await context.close();
  }
}

async function take(page: Page, call: RecordedCall, visitor: { email: string; password: string }): Promise<void> {
  const { role = '', name = '' } = call.element ?? {};
  const place = page.getByRole(role as Role, { name, exact: true });
  const given = call.arguments as Record<string, string & number>;
  const fill = (text = '') => text.replace('{{email}}', visitor.email).replace('{{password}}', visitor.password);
  switch (call.name) {
    case 'open':
      return void (await page.goto(new URL(given.path as string, page.url()).href));
    case 'click':
      return place.click({ timeout });
    case 'type':
      return place.fill(fill(given.text), { timeout });
    case 'select':
      return void (await place.selectOption(given.option as string, { timeout }));
    case 'resize':
      return page.setViewportSize({ width: given.width as number, height: given.height as number });
    case 'assert':
      return check(page, given);
  }
}

async function check(page: Page, given: Record<string, string & number>): Promise<void> {
  const named = page.getByRole(given.role as Role, { name: given.name as string, exact: true });
  switch (given.kind as string) {
    case 'text':
      return page
        .getByText(given.text as string)
        .filter({ visible: true })
        .first()
        .waitFor({ timeout });
    case 'no_text':
      return poll(async () => (await visibleText(page)).includes(given.text as string) === false);
    case 'value':
      return poll(async () => (await named.inputValue({ timeout })) === given.value);
    case 'count':
      return poll(async () => (await countVisible(named)) === given.count);
    case 'fits':
      return poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
    default:
      throw new Error(`no such check: ${given.kind}`);
  }
}

/** As a person reads it: lines and columns are separated by a space. */
const visibleText = async (page: Page): Promise<string> =>
  (await page.locator('body').innerText({ timeout })).replaceAll(/\s+/g, ' ');
const countVisible = (locator: Locator): Promise<number> => locator.filter({ visible: true }).count();

async function poll(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + timeout;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('a check does not hold');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
