// Finds a recorded element again. It first searches for the element as recorded, then by one feature after
// another. Each search must match exactly one visible element.
import { setTimeout as wait } from 'node:timers/promises';
import type { Frame, Locator, Page } from 'playwright-core';
import { type Container, parseContainer } from './target.ts';
import type { FoundBy, Target } from './types.ts';

export interface FoundElement {
  readonly locator: Locator;
  readonly by: FoundBy;
}

export type Search = { readonly found: FoundElement } | { readonly found: undefined; readonly isAmbiguous: boolean };

/** The features for actions, whose effect is checked afterwards. */
export const forActions: readonly FoundBy[] = [
  'role_and_name',
  'elsewhere',
  'label',
  'placeholder',
  'text',
  'test_id',
  'only_such_role',
];
/**
 * The features for checking the contents of a field or a part of the page. The element may have been renamed, but must
 * be the same.
 */
export const forContents: readonly FoundBy[] = ['role_and_name', 'elsewhere', 'label', 'placeholder', 'test_id'];
/** Matches only the element as recorded. While a page is loading, other features could match the wrong element. */
export const asRecorded: readonly FoundBy[] = ['role_and_name'];

const pollMs = 50;
const maxFrames = 5;
/** The share of the available time during which only the element as recorded is searched for. */
const patientPart = 0.6;

/** What a search needs to know about the page. */
export interface SearchView {
  /** The current page. It may change during a search. */
  readonly page: Page;
  /** The time since the page's last action or request, or 0 while it is waiting for a response. */
  readonly quietMs: number;
}

/**
 * The extra time after the deadline if the page is waiting for a response, because a slow server does not mean that the
 * element is missing.
 */
const answerMs = 10_000;

/** Whether to stop waiting. A `deadline` of 0 means that there is nothing to wait for. */
export const isOver = ({ quietMs }: SearchView, deadline: number): boolean => {
  const lateMs = performance.now() - deadline;
  return lateMs >= 0 && (quietMs > 0 || lateMs >= answerMs);
};

export const isPatient = (passedMs: number, timeoutMs: number): boolean => passedMs < patientPart * timeoutMs;

export const listFrames = (page: Page): Frame[] => page.frames().slice(0, maxFrames);

/** Searches until the element is found or the deadline (a `performance.now()` time) has passed. */
export async function findTarget(
  view: SearchView,
  target: Target,
  features: readonly FoundBy[],
  deadline: number,
  accept: (element: FoundElement) => Promise<boolean> = async () => true,
): Promise<Search> {
  const startedAt = performance.now();
  for (;;) {
    const now = performance.now();
    const tried = isPatient(now - startedAt, deadline - startedAt) ? asRecorded : features;
    const search = await searchOnce(view.page, target, tried, accept);
    if (search.found !== undefined && search.found.by !== 'role_and_name') {
      // The recorded element may have appeared in the meantime, and takes precedence over a match by a weaker feature.
      const recorded = await searchOnce(view.page, target, asRecorded, accept);
      return recorded.found === undefined ? search : recorded;
    }
    if (search.found !== undefined || (now >= deadline && isOver(view, deadline))) return search;
    await wait(pollMs);
  }
}

async function searchOnce(
  page: Page,
  target: Target,
  features: readonly FoundBy[],
  accept: (element: FoundElement) => Promise<boolean>,
): Promise<Search> {
  let isAmbiguous = false;
  for (const by of features) {
    for (const frame of listFrames(page)) {
      const locator = locate(frame, target, by)?.filter({ visible: true });
      if (locator === undefined) continue;
      const count = await countElements(locator);
      if (count > 1) isAmbiguous = true;
      if (count === 1 && (await accept({ locator, by }))) return { found: { locator, by } };
    }
  }
  return { found: undefined, isAmbiguous };
}

/** Returns 0 while a different page is loading. */
export const countElements = (locator: Locator): Promise<number> => locator.count().catch(() => 0);

type Scope = Frame | Locator;

/** Returns undefined if the target does not have the feature. */
export function locate(frame: Frame, target: Target, by: FoundBy): Locator | undefined {
  const container = parseContainer(target.within);
  if (by === 'elsewhere') {
    const mayMove = container !== undefined && !container.isItem && !target.is_destructive;
    return mayMove ? locateAsRecorded(frame, target) : undefined;
  }
  const part = locateContainer(frame, container);
  const isInPart = container?.isItem || target.is_destructive || by === 'role_and_name' || by === 'only_such_role';
  return locateIn(isInPart ? part : frame, target, by);
}

/** All elements that may be this one under a different name. */
export function locateRemains(frame: Frame, target: Target): Locator[] {
  const container = parseContainer(target.within);
  const part = locateContainer(frame, container);
  return [
    ...(['role_and_name', 'label', 'placeholder'] as const).map((by) => locateIn(part, target, by)),
    locateIn(container?.isItem ? part : frame, target, 'test_id'),
  ].filter((locator) => locator !== undefined);
}

function locateIn(scope: Scope, target: Target, by: Exclude<FoundBy, 'elsewhere'>): Locator | undefined {
  const { role, label, placeholder, text, test_id } = target;
  switch (by) {
    case 'role_and_name':
      return locateAsRecorded(scope, target);
    case 'label':
      return label === null ? undefined : scope.getByLabel(label, { exact: true }).and(scope.locator(fields));
    case 'placeholder':
      return placeholder === null ? undefined : scope.getByPlaceholder(placeholder, { exact: true });
    case 'text':
      return text === null ? undefined : scope.getByText(text, { exact: true });
    case 'test_id':
      return test_id === null ? undefined : scope.locator(renderTestId(test_id));
    case 'only_such_role':
      return target.is_destructive || role === 'generic' ? undefined : locateByRole(scope, role, null);
  }
}

/**
 * Only these elements can have a label. Other elements with the same name, such as the form around a field, are
 * excluded.
 */
const fields = 'input, textarea, select, [contenteditable]';

/** An element without a name is identified by its text. */
const locateAsRecorded = (scope: Scope, { role, name, text }: Target): Locator =>
  name === '' && text !== null ? scope.getByText(text, { exact: true }) : locateByRole(scope, role, name);

/** `role` comes from a Playwright snapshot or a recording. An unknown role matches nothing. */
export const locateByRole = (scope: Scope, role: string, name: string | null): Locator =>
  scope.getByRole(role as Parameters<Frame['getByRole']>[0], name === null ? {} : { name, exact: true });

function locateContainer(frame: Frame, container: Container | undefined): Scope {
  if (container === undefined) return frame;
  return container.isItem ? locateItems(frame, container) : locateByRole(frame, container.role, container.name);
}

/** The items that contain an element with exactly this text. "Milk" does not match "Milkshake". */
function locateItems(frame: Frame, { role, name }: Container): Locator {
  const items = locateByRole(frame, role, null);
  if (name === null) return items;
  const element = frame.getByText(name, { exact: true });
  const ownText = frame.locator(`:text-is(${JSON.stringify(name)})`); // a text beside elements: `<li>Milk <button>…`
  return items
    .filter({ has: element })
    .or(items.filter({ has: ownText }))
    .or(items.and(ownText));
}

const renderTestId = (id: string): string =>
  ['data-testid', 'data-test-id', 'data-test'].map((name) => `[${name}=${JSON.stringify(id)}]`).join(', ');
