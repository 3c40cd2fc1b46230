// Performs a person's actions on a page.
import type { ElementHandle, Locator, Page, Response } from 'playwright-core';
import { evaluateCheck } from './checks.ts';
import { forActions, locateByRole } from './find.ts';
import { isPasswordField, isSelect } from './in-page.ts';
import { locatePlace, type Places } from './place.ts';
import type { ActionOutcome, Confirms, PageAction, Place } from './types.ts';

const openMs = 15_000;
const waitMs = 15_000;
const maxTypedLength = 10_000;
const sizes = { width: [240, 1_920], height: [240, 1_200] } as const;

const done = { outcome: 'done', target: null, found_by: null, now: null, confirmed: false } as const;
const notPossible = (why: string): ActionOutcome => ({ outcome: 'not_possible', why });

export interface ActionView extends Places {
  /** The app's address. */
  readonly home: URL;
  /** How long to search for an element, and how long to wait until it can be used. */
  readonly actionMs: number;
  /** Answers the browser's questions with Cancel until the next action. */
  refuseQuestions(): void;
}

export async function performAction(view: ActionView, action: PageAction): Promise<ActionOutcome> {
  switch (action.action) {
    case 'open':
      return openPath(view.page, action.path, view.home);
    case 'click':
      return actOn(view, action, (locator, timeout) => locator.click({ timeout }));
    case 'type':
      return typeText(view, action);
    case 'select':
      return actOn(view, action, (locator, timeout) => selectOption(locator, action.option, timeout));
    case 'resize':
      return resize(view.page, action.width, action.height);
    case 'wait': {
      const { holds, seen, target } = await evaluateCheck(view, action.check, waitMs);
      return holds
        ? { ...done, target }
        : notPossible(`The condition was not met within ${waitMs / 1000} s. Seen: ${seen}`);
    }
  }
}

async function openPath(page: Page, path: string, home: URL): Promise<ActionOutcome> {
  const url = resolvePath(path, home);
  if (url === undefined) return notPossible(`Only the app's own pages can be opened, such as ${home.pathname}.`);
  let status: number | undefined;
  const note = (response: Response) => {
    if (response.request().isNavigationRequest() && response.frame() === page.mainFrame()) status = response.status();
  };
  page.on('response', note);
  try {
    await page.goto(url.href, { waitUntil: 'domcontentloaded', timeout: openMs });
    return done;
  } catch (error) {
    if (status === 204 || status === 205)
      return notPossible('There is no page at this address. The response is empty.');
    // The page redirected to another page while it was loading.
    if (/interrupted by another navigation|net::ERR_ABORTED/.test(String(error))) return done;
    return notPossible(explain(error));
  } finally {
    page.off('response', note);
  }
}

/**
 * If the app is not at its origin's root, paths are resolved below the app's own path. Returns undefined for other
 * origins and schemes.
 */
function resolvePath(path: string, home: URL): URL | undefined {
  const folder = home.pathname.replace(/[^/]*$/, '');
  const isAbsolute = path.startsWith('/') && !path.startsWith('//');
  const below = isAbsolute && !path.startsWith(folder) ? folder + path.slice(1) : path;
  const url = URL.parse(below, home.href);
  return url !== null && url.origin === home.origin && /^https?:$/.test(url.protocol) ? url : undefined;
}

async function typeText(view: ActionView, action: PageAction & { action: 'type' }): Promise<ActionOutcome> {
  if (action.text.length > maxTypedLength) return notPossible(`At most ${maxTypedLength} characters can be typed.`);
  return actOn(view, action, async (locator, timeout, isAsRecorded) => {
    // A secret is typed only into the exact element that was checked, because the page may have changed since.
    const field = action.secret ? await findSecretField(view, locator, isAsRecorded, timeout) : locator;
    await field.fill(action.text, { timeout });
    if (action.submit) await field.press('Enter', { timeout });
  });
}

async function findSecretField(
  { home }: ActionView,
  locator: Locator,
  isAsRecorded: boolean,
  timeout: number,
): Promise<ElementHandle> {
  const field = await locator.elementHandle({ timeout });
  const frame = await field.ownerFrame();
  if (URL.parse(frame?.url() ?? '')?.origin !== home.origin)
    throw new Error("The password can only be typed on the app's own pages. Open one of them first.");
  if (!isAsRecorded && !(await field.evaluate(isPasswordField)))
    throw new Error('The password can only be typed into a password field.');
  return field;
}

/** A list drawn by the page itself opens with a click, and its entries have the role `option`. */
async function selectOption(locator: Locator, option: string, timeout: number): Promise<void> {
  if (await locator.evaluate(isSelect, undefined, { timeout })) {
    await locator.selectOption(option, { timeout });
    return;
  }
  await locator.click({ timeout });
  await locateByRole(locator.page().mainFrame(), 'option', option).click({ timeout });
}

async function resize(page: Page, width: number, height: number): Promise<ActionOutcome> {
  for (const [name, value] of Object.entries({ width, height })) {
    const [min, max] = name === 'width' ? sizes.width : sizes.height;
    if (!Number.isInteger(value) || value < min || value > max)
      return notPossible(`The ${name} must be between ${min} and ${max} px.`);
  }
  await page.setViewportSize({ width, height });
  return done;
}

async function actOn(
  view: ActionView,
  { place, confirms }: { readonly place: Place; readonly confirms?: Confirms },
  act: (locator: Locator, timeoutMs: number, isAsRecorded: boolean) => Promise<void>,
): Promise<ActionOutcome> {
  const deadline = performance.now() + view.actionMs;
  const located = await locatePlace(view, place, forActions, deadline);
  if (located.outcome !== 'found') return located;
  const { locator, target, found_by, now } = located;
  try {
    const isAsRecorded = found_by === null || found_by === 'role_and_name';
    if (!isAsRecorded && !confirms) view.refuseQuestions();
    // Uses a new time limit, because on a busy machine the search may have used up the first.
    await act(locator, Math.max(1_000, view.actionMs), isAsRecorded);
  } catch (error) {
    return notPossible(explain(error));
  }
  return { ...done, target, found_by, now };
}

/** Why actions fail, as patterns for Playwright's error log. The first matching pattern is used. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/Download is starting/, 'This address serves a file, not a page. Tests do not download files.'],
  [/did not find some options/, 'The list has no such option.'],
  [/not an <input>|not an? <select>|Cannot type text|not a <select>/, 'Nothing can be entered into this element.'],
  [/Malformed value/, 'The field does not accept a value in this format.'],
  [/element is not enabled/, 'The element is disabled.'],
  [/element is not editable/, 'The field is read-only.'],
  [/(<[^>]{1,80}>).*intercepts pointer events/, 'Another element covers it: '],
  [/element is outside of the viewport/, 'The element is outside the window.'],
  [/element is not stable/, 'The element keeps moving.'],
  [/element is not visible/, 'The element is not visible.'],
  [/element was detached|not attached/, 'The element was removed from the page.'],
];

function explain(error: unknown): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Playwright colours its messages
  const text = String((error as Error).message ?? error).replaceAll(/\x1b\[\d+m/g, '');
  for (const [pattern, reason] of reasons) {
    const match = pattern.exec(text);
    if (match !== null) return reason + (match[1] ?? '');
  }
  const [line = ''] = text.split('\n');
  return line.replace(/^\w+\.\w+: /, '').slice(0, 300);
}
