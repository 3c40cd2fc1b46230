// Follows docs/guides/console.md as its reader would, in a real browser, against what `npm run dev` starts. What the guide
// says to open, press, enter and see is read from its sentences. Where the guide has a picture, and when the
// app is published, the screen is judged. With GUIDE_PICTURES=docs/images, the pictures are taken again instead: the end of a
// picture's name says in which colours and how wide.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { desktop, enter, phone, startChromium } from '../../server/test/e2e/browser.ts';
import { repository, startDevelopment } from '../../server/test/e2e/dev.ts';
import { expectGoodScreen, press, see, watchErrors } from './console.ts';

const text = readFileSync(join(repository, 'docs/guides/console.md'), 'utf8');
const { banner, baseUrl } = await startDevelopment();
const browser = await startChromium();

type Step = Readonly<Record<'section' | 'place' | 'open' | 'press' | 'enter' | 'label' | 'see' | 'picture', string>>;

/** The sentences of the guide that say what to do and what to see, in their order. */
const sentences = new RegExp(
  [
    '^## (?<section>[^\\n]+)',
    '\\bopen\\s+the\\s+(?<place>link\\s+that\\s+sets\\s+your\\s+password|address\\s+of\\s+the\\s+app|link\\s+in\\s+the\\s+mail)',
    '\\bopen\\s+\\*\\*(?<open>[^*]+)\\*\\*',
    '\\bpress\\s+\\*\\*(?<press>[^*]+)\\*\\*',
    '`(?<enter>[^`]+)`\\s+as\\s+\\*\\*(?<label>[^*]+)\\*\\*',
    '\\byou\\s+see\\s+“(?<see>[^”]+)”',
    '^!\\[[^\\]]*\\]\\(\\.\\./images/(?<picture>[\\w-]+)\\.png\\)',
  ].join('|'),
  'gim',
);

const oneLine = (words: string | undefined): string => words?.replaceAll(/\s+/g, ' ') ?? '';
const steps = [...text.matchAll(sentences)].map(
  ({ groups = {} }) =>
    Object.fromEntries(Object.entries(groups).map(([name, words]) => [name, oneLine(words)])) as Step,
);

const openPage = async () => (await browser.newContext({ viewport: desktop })).newPage();

async function findPlace(place: string, page: Page): Promise<string> {
  if (place === 'link that sets your password') return /http\S+\/reset-password#\S+/.exec(banner)?.[0] ?? '';
  if (place === 'address of the app')
    return (await page.getByRole('dialog').getByRole('link').first().getAttribute('href')) ?? '';
  const inbox = /export INBOX=(\S+)/.exec(banner)?.[1];
  const read = async () => (await fetch(`${inbox}?to=ann@customers.example`)).text(); // JSON, because it is no browser
  await expect.poll(read).toContain('plinth_link=');
  return /http[^\s"\\]+#plinth_link=[\w-]+/.exec(await read())?.[0] ?? '';
}

async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env.GUIDE_PICTURES;
  if (folder === undefined) {
    expect(existsSync(join(repository, 'docs/images', `${name}.png`)), name).toBe(true);
    // A turn that is running changes its screen meanwhile.
    return name.includes('-turn') ? undefined : expectGoodScreen(page, name);
  }
  const isSmall = name.endsWith('-phone');
  const colorScheme = name.endsWith('-dark') ? 'dark' : 'light';
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.setViewportSize(isSmall ? phone : desktop);
  // Lines about what was done leave by themselves.
  await page.getByRole('region', { name: 'Messages' }).getByRole('button').first().waitFor({ state: 'detached' });
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(repository, folder, `${name}.png`) });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' });
  await page.setViewportSize(desktop);
}

it('a founder gets to a published app that a second person uses', async () => {
  const founder = await openPage();
  const errors = watchErrors(founder);
  let page = founder;
  for (const step of steps) {
    if (step.section) {
      if (step.section === 'As a second person') await expectGoodScreen(founder, 'published');
      page = step.section === 'As a second person' ? await openPage() : founder;
    } else if (step.place) await page.goto(await findPlace(step.place, founder));
    else if (step.open)
      await page
        .getByRole('link', { name: new RegExp(`^${step.open}|${step.open}$`) })
        .filter({ visible: true })
        .last()
        .click();
    else if (step.press) await press(page, step.press);
    else if (step.enter) await enter(page, step.label, step.enter);
    else if (step.see) await see(page, step.see);
    else if (step.picture) await takePicture(page, step.picture);
  }
  expect(errors).toEqual([]);
  expect(new URL(founder.url()).origin).toBe(baseUrl);
  expect(steps.filter((step) => step.press).length).toBeGreaterThan(12);
});
