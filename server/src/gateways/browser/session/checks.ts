// Evaluates checks until they hold or the deadline has passed.
import { setTimeout as wait } from 'node:timers/promises';
import type { Frame, Locator, Page } from 'playwright-core';
import {
  asRecorded,
  countElements,
  forContents,
  isOver,
  isPatient,
  listFrames,
  locate,
  locateByRole,
  locateRemains,
} from './find.ts';
import { readText, readValues } from './in-page.ts';
import { listMisfits } from './misfits.ts';
import { type LocatedPlace, locatePlace, nameTarget, type Places } from './place.ts';
import { parseContainer } from './target.ts';
import type { Check, CheckOutcome, FoundBy, Place, Target } from './types.ts';

const maxSeenLength = 300;
const pollMs = 20;
const evaluateMs = 5_000;
/** A short time, in which the page can react to the last action. */
const rest = { quietMs: 100, maxMs: 3_000 };
/** A longer time, because something that must be absent could still appear after a timer or a slow response. */
const longRest = { quietMs: 500, maxMs: Number.POSITIVE_INFINITY };

export async function evaluateCheck(view: Places, check: Check, timeoutMs: number): Promise<CheckOutcome> {
  const startedAt = performance.now();
  const { quietMs, maxMs } = canHoldTooEarly(check) ? longRest : rest;
  const isAtRest = () => view.quietMs >= quietMs || performance.now() - startedAt >= maxMs;
  for (;;) {
    const passedMs = performance.now() - startedAt;
    const isLast = passedMs >= timeoutMs && (timeoutMs === 0 || isOver(view, startedAt + timeoutMs));
    if (isLast || isAtRest()) {
      const features = isPatient(passedMs, timeoutMs) ? asRecorded : forContents;
      const outcome = await evaluateOnce(view, check, features).catch(explainError);
      if (isLast || (outcome.holds && isAtRest())) return { ...outcome, seen: outcome.seen.slice(0, maxSeenLength) };
    }
    await wait(pollMs);
  }
}

const canHoldTooEarly = ({ kind }: Check): boolean => ['hidden', 'no_text', 'fits', 'count'].includes(kind);

const explainError = (error: Error): CheckOutcome => ({
  holds: false,
  seen: `The page could not be inspected: ${error.message.split('\n')[0]}`,
  target: null,
});

async function evaluateOnce(view: Places, check: Check, features: readonly FoundBy[]): Promise<CheckOutcome> {
  const { page } = view;
  switch (check.kind) {
    case 'visible':
    case 'hidden':
      return checkPresence(view, check.place, check.kind, features);
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
      return { holds: count === check.count, seen: `${count} ${count === 1 ? 'is' : 'are'} visible`, target: null };
    }
    case 'url':
      return { holds: page.url().includes(check.contains), seen: page.url(), target: null };
    case 'fits': {
      const misfits = await page.locator(':root').evaluate(listMisfits, undefined, { timeout: evaluateMs });
      return { holds: misfits.length === 0, seen: misfits.join('; ') || 'everything fits', target: null };
    }
  }
}

const locateNow = (view: Places, place: Place, features: readonly FoundBy[]): Promise<LocatedPlace> =>
  locatePlace(view, place, features, 0);

async function checkPresence(
  view: Places,
  place: Place,
  kind: 'visible' | 'hidden',
  features: readonly FoundBy[],
): Promise<CheckOutcome> {
  const look = () => {
    if ('ref' in place) return lookAtRef(view, place);
    return kind === 'visible' ? lookFor(view, place.target, features) : lookForRemains(view, place.target);
  };
  const { isVisible, target, name } = await look();
  const seen = `${name} is ${isVisible ? 'visible' : 'not visible'}`;
  return { holds: isVisible === (kind === 'visible'), seen, target };
}

interface Presence {
  readonly isVisible: boolean;
  readonly target: Target | null;
  readonly name: string;
}

async function lookAtRef(view: Places, place: Place): Promise<Presence> {
  const located = await locateNow(view, place, []);
  if (located.outcome !== 'found') return { isVisible: false, target: null, name: 'the element' };
  const { target, locator } = located;
  return { isVisible: await locator.isVisible(), target, name: nameTarget(target) };
}

async function lookFor(view: Places, target: Target, features: readonly FoundBy[]): Promise<Presence> {
  const locators = listFrames(view.page).map((frame) => locate(frame, target, 'role_and_name'));
  if (await isAnyVisible(locators)) return { isVisible: true, target, name: nameTarget(target) };
  // An unnamed part of the page is only layout, so the element may have moved to a different one. A named part, such as
  // a dialog, is what the check is about.
  const mayMove = features.includes('elsewhere') && parseContainer(target.within)?.name === null;
  const moved = mayMove ? await locateNow(view, { target }, ['elsewhere']) : undefined;
  const now = moved?.outcome === 'found' ? (moved.now ?? target) : undefined;
  return { isVisible: now !== undefined, target: now ?? target, name: nameTarget(now ?? target) };
}

async function lookForRemains(view: Places, target: Target): Promise<Presence> {
  const locators = listFrames(view.page).flatMap((frame) => locateRemains(frame, target));
  return { isVisible: await isAnyVisible(locators), target, name: nameTarget(target) };
}

async function isAnyVisible(locators: readonly (Locator | undefined)[]): Promise<boolean> {
  for (const locator of locators)
    if (locator !== undefined && (await countElements(locator.filter({ visible: true }))) > 0) return true;
  return false;
}

async function checkText(
  view: Places,
  text: string,
  place: Place | null,
  expected: boolean,
  features: readonly FoundBy[],
): Promise<CheckOutcome> {
  const located = place === null ? undefined : await locateNow(view, place, features);
  if (located !== undefined && located.outcome !== 'found') return { holds: false, seen: located.why, target: null };
  const seen = await readVisibleText(located === undefined ? view.page : located.locator);
  const holds = expected ? hasText(seen, text) : !normalize(seen).includes(normalize(text));
  const target = located === undefined ? null : (located.now ?? located.target);
  return { holds, seen: describeText(seen, text), target };
}

async function readVisibleText(of: Page | Locator): Promise<string> {
  if (!('frames' in of)) return of.evaluate(readText, undefined, { timeout: evaluateMs });
  const frames = listFrames(of);
  // This takes one message to the browser. Our own function would take several.
  const read = (frame: Frame) => frame.innerText('body', { timeout: evaluateMs }).catch(() => '');
  const texts = await Promise.all(frames.map(read));
  return texts.join('\n');
}

/** A number does not match within a longer number: "8.50" is not in "18.50", nor "1 order" in "11 orders". */
function hasText(seen: string, text: string): boolean {
  const wanted = normalize(text);
  const before = /^\d/.test(wanted) ? String.raw`(?<!\d[.,'’]?)` : '';
  const after = /\d$/.test(wanted) ? String.raw`(?![.,'’]?\d)` : '';
  return new RegExp(before + RegExp.escape(wanted) + after, 'u').test(normalize(seen));
}

const normalize = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().toLocaleLowerCase('en');

/** Returns the text with its surroundings if it was found, and the start of the page's text otherwise. */
function describeText(seen: string, text: string): string {
  const line = seen.replaceAll(/\s+/g, ' ').trim();
  const at = line.toLocaleLowerCase('en').indexOf(normalize(text));
  return at < 0 ? line : line.slice(Math.max(0, at - 100));
}

async function countVisible(page: Page, role: string, name: string | null): Promise<number> {
  const counts = listFrames(page).map((frame) => locateByRole(frame, role, name).filter({ visible: true }).count());
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
