// Tests the reference page in a real browser: it shows the API on a phone and on a large screen, and sends no requests
// to other origins.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../support/world.ts';
import { desktop, phone, startBrowser } from './browser.ts';

const world = await startWorld();
const { visit } = await startBrowser();

/** Opens the page and records all requests and content security policy violations. */
async function open(name: string, viewport: typeof phone, check: (page: Page) => Promise<void>): Promise<void> {
  const requests: string[] = [];
  const violations: string[] = [];
  await visit(
    'about:blank',
    async (page) => {
      page.on('request', (request) => requests.push(request.url()));
      await page.exposeFunction('noteViolation', (text: string) => violations.push(text));
      await page.addInitScript(
        "addEventListener('securitypolicyviolation', (event) => noteViolation(event.violatedDirective + ' ' + event.blockedURI))",
      );
      await page.goto(`${world.url}/docs`);
      await check(page);
      const folder = process.env.PAGE_PICTURES;
      if (folder === undefined) return;
      await page.waitForTimeout(1_500); // scrolling to an operation is animated
      await page.screenshot({ path: `${folder}/${name}-${viewport.width}.png` });
    },
    { viewport },
  );
  const elsewhere = requests.filter((url) => !url.startsWith(`${world.url}/`) && !/^(data|blob):/.test(url));
  expect(requests).toContain(`${world.url}/openapi.json`);
  expect(elsewhere).toEqual([]);
  expect(violations).toEqual([]);
}

describe('the reference page', () => {
  it('shows features, search, the bearer token first, and examples', async () => {
    await open('reference', desktop, async (page) => {
      await page.getByRole('heading', { name: 'Plinth', exact: true }).first().waitFor();
      await page.getByText('Bearer Token').first().waitFor();
      await page
        .getByRole('button', { name: /Search/ })
        .first()
        .waitFor();
      await page.getByText('Entities', { exact: true }).first().click();
      await page.getByText('Create or replace an entity').first().click();
      // The example of the body, in the request to copy.
      await page.getByText('created_by_id').filter({ visible: true }).first().waitFor();
    });
  });

  it('shows the call with the client, with plinthctl and with curl', async () => {
    await open('reference-samples', desktop, async (page) => {
      await page.getByText('Apps', { exact: true }).first().click();
      await page.getByText('Create an app').first().click();
      const shows = (text: string) =>
        page.locator('pre', { hasText: text }).filter({ visible: true }).first().waitFor();
      const choose = async (chosen: string, label: string) => {
        await page.getByRole('button', { name: chosen, exact: true }).filter({ visible: true }).first().click();
        await page.getByRole('option', { name: label, exact: true }).first().click();
      };
      await shows('plinth.createApp(');
      await choose('Client', 'plinthctl');
      await shows('plinthctl call createApp');
      await choose('plinthctl', 'curl');
      await shows(`curl ${world.config.BASE_URL}/api/apps`);
    });
  });

  it('finds an operation by its words', async () => {
    await open('reference-search', desktop, async (page) => {
      await page.getByText('Search').filter({ visible: true }).first().click();
      await page.keyboard.type('failed deliveries');
      await page
        .getByRole('option', { name: /Send failed and missed deliveries/ })
        .first()
        .waitFor();
    });
  });

  it('fits a phone', async () => {
    await open('reference', phone, async (page) => {
      await page.getByRole('heading', { name: 'Plinth', exact: true }).first().waitFor();
      await page.getByText('Bearer Token').first().waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
    });
  });
});
