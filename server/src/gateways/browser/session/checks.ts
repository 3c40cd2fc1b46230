// Owns evaluating checks: until they hold, or the deadline has passed.
import { setTimeout as wait } from 'node:timers/promises';
import type { Frame, Locator, Page } from 'playwright-core';
import { countElements, forContents, forPresence, isWorthWaiting, locate, locateByRole } from './find.ts';
import { listMisfits, readText, readValues } from './in-page.ts';
import { type LocatedPlace, locatePlace, nameTarget, type Places } from './place.ts';
import type { Check, CheckOutcome, FoundBy, Place, Target } from './types.ts';

export interface CheckView extends Places {
  settle(maxMs: number): Promise<void>;
}

const maxSeenLength = 300;
const pollMs = 50;
const settleMs = 2_000;
const evaluateMs = 5_000;

export async function evaluateCheck(view: CheckView, check: Check, timeoutMs: number): Promise<CheckOutcome> {
  const startedAt = performance.now();
  // What must not be there could still come.
  if (isNegative(check) && timeoutMs > 0) await view.settle(Math.min(settleMs, timeoutMs));
  for (;;) {
    const passedMs = performance.now() - startedAt;
    const isLast = passedMs >= timeoutMs;
    const features = isWorthWaiting(view, passedMs) && !isLast ? forPresence : forContents;
    const outcome = await evaluateOnce(view, check, features).catch(explainError);
    if (outcome.holds || isLast) return { ...outcome, seen: outcome.seen.slice(0, maxSeenLength) };
    await wait(pollMs);
  }
}

const isNegative = (check: Check): boolean =>
  ['hidden', 'no_text', 'fits'].includes(check.kind) || (check.kind === 'count' && check.count === 0);

const explainError = (error: Error): CheckOutcome => ({
  holds: false,
  seen: `The page could not be looked at: ${error.message.split('\n')[0]}`,
  target: null,
});

async function evaluateOnce(view: CheckView, check: Check, features: readonly FoundBy[]): Promise<CheckOutcome> {
  const { page } = view;
  switch (check.kind) {
    case 'visible':
    case 'hidden':
      return checkPresence(view, check.place, check.kind === 'visible');
    case 'text':
    case 'no_text':
      return checkText(view, check.text, check.place, check.kind === 'text', features);
    case 'value': {
      const place = await locateNow(view, check.place, features);
      if (place.outcome !== 'found') return { holds: false, seen: place.why, target: null };
      const values = await place.locator.evaluate(readValues, undefined, { timeout: evaluateMs });
      return { holds: values.includes(check.value), seen: values[0] ?? '', target: place.now ?? place.target };
    }
    case 'count': {
      const count = await countVisible(page, check.role, check.name);
      return { holds: count === check.count, seen: String(count), target: null };
    }
    case 'url':
      return { holds: page.url().includes(check.contains), seen: page.url(), target: null };
    case 'fits': {
      const misfits = await page.locator(':root').evaluate(listMisfits, undefined, { timeout: evaluateMs });
      return { holds: misfits.length === 0, seen: misfits.join('; ') || 'everything fits', target: null };
    }
  }
}

const locateNow = (view: CheckView, place: Place, features: readonly FoundBy[]): Promise<LocatedPlace> =>
  locatePlace(view, place, features, 0);

async function checkPresence(view: CheckView, place: Place, expected: boolean): Promise<CheckOutcome> {
  const { isVisible, target, name } = await findVisible(view, place);
  return { holds: isVisible === expected, seen: isVisible ? `${name} is visible` : `${name} is not visible`, target };
}

async function findVisible(view: CheckView, place: Place) {
  if ('ref' in place) {
    const located = await locateNow(view, place, []);
    const target: Target | null = located.outcome === 'found' ? located.target : null;
    const isVisible = located.outcome === 'found' && (await located.locator.isVisible());
    return { isVisible, target, name: target === null ? 'the element' : nameTarget(target) };
  }
  const { target } = place;
  const name = nameTarget(target);
  const locators = forPresence.flatMap((by) => view.page.frames().flatMap((frame) => locate(frame, target, by)));
  for (const locator of locators)
    if ((await countElements(locator.filter({ visible: true }))) > 0) return { isVisible: true, target, name };
  return { isVisible: false, target, name };
}

async function checkText(
  view: CheckView,
  text: string,
  place: Place | null,
  expected: boolean,
  features: readonly FoundBy[],
): Promise<CheckOutcome> {
  const located = place === null ? undefined : await locateNow(view, place, features);
  if (located !== undefined && located.outcome !== 'found') return { holds: false, seen: located.why, target: null };
  const seen = await readVisibleText(located === undefined ? view.page : located.locator);
  const holds = normalize(seen).includes(normalize(text)) === expected;
  const target = located === undefined ? null : (located.now ?? located.target);
  return { holds, seen: describeText(seen, text), target };
}

async function readVisibleText(of: Page | Locator): Promise<string> {
  if (!('frames' in of)) return of.evaluate(readText, undefined, { timeout: evaluateMs });
  const frames = of.frames().slice(0, 5);
  // One message to the browser, where a function of ours takes several.
  const read = (frame: Frame) => frame.innerText('body', { timeout: evaluateMs }).catch(() => '');
  const texts = await Promise.all(frames.map(read));
  return texts.join('\n');
}

const normalize = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().toLocaleLowerCase('en');

/** What is around the text, if it is there; otherwise how the text begins. */
function describeText(seen: string, text: string): string {
  const line = seen.replaceAll(/\s+/g, ' ').trim();
  const at = line.toLocaleLowerCase('en').indexOf(normalize(text));
  return at < 0 ? line : line.slice(Math.max(0, at - 100));
}

async function countVisible(page: Page, role: string, name: string | null): Promise<number> {
  const counts = page
    .frames()
    .slice(0, 5)
    .map((frame) => locateByRole(frame, role, name).filter({ visible: true }).count());
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
