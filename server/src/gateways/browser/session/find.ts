// Owns finding a recorded element again: first as it was, then by one feature after the other, each of which must lead to
// exactly one visible element.
import { setTimeout as wait } from 'node:timers/promises';
import type { Frame, Locator, Page } from 'playwright-core';
import { type Container, parseContainer } from './target.ts';
import type { FoundBy, Target } from './types.ts';

export interface FoundElement {
  readonly locator: Locator;
  readonly by: FoundBy;
}

export type Search = { readonly found: FoundElement } | { readonly found: undefined; readonly isAmbiguous: boolean };

/** Features that identify an element as it was recorded. While a page loads, others could lead to another one. */
const identity: readonly FoundBy[] = ['role_and_name', 'within'];
/** For an action, whose effect is checked afterwards. */
export const forActions: readonly FoundBy[] = [
  ...identity,
  'label',
  'placeholder',
  'text',
  'test_id',
  'only_such_role',
];
/** For what a field or a part of the page contains: it may be renamed, but must be the same one. */
export const forContents: readonly FoundBy[] = [...identity, 'label', 'placeholder', 'test_id'];
/** For whether it is there at all. */
export const forPresence: readonly FoundBy[] = identity;

const pollMs = 50;
const maxFrames = 5;

/** What a search needs to know of the page. */
export interface SearchView {
  /** The page that is acted on. It may change meanwhile. */
  readonly page: Page;
  /** How long the page has asked for nothing. */
  readonly quietMs: number;
}

/** A page that still loads may soon show what was recorded. */
export const isWorthWaiting = ({ quietMs }: SearchView, passedMs: number): boolean =>
  passedMs < 500 || (quietMs < 300 && passedMs < 3_000);

/** Looks until there is one, or the deadline (as of `performance.now()`) has passed. */
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
    const isPatient = isWorthWaiting(view, now - startedAt) && now < deadline;
    const tried = isPatient ? features.filter((feature) => identity.includes(feature)) : features;
    const search = await searchOnce(view.page, target, tried, accept);
    if (search.found !== undefined || now >= deadline) return search;
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
    for (const frame of page.frames().slice(0, maxFrames)) {
      for (const each of locate(frame, target, by)) {
        const locator = each.filter({ visible: true });
        const count = await countElements(locator);
        if (count > 1) isAmbiguous = true;
        if (count === 1 && (await accept({ locator, by }))) return { found: { locator, by } };
      }
    }
  }
  return { found: undefined, isAmbiguous };
}

/** None while the page is being replaced by another one. */
export const countElements = (locator: Locator): Promise<number> => locator.count().catch(() => 0);

type Scope = Frame | Locator;

/** The ways to find it by this feature, the best first. Empty if the target does not have the feature. */
export function locate(frame: Frame, target: Target, by: FoundBy): Locator[] {
  const container = parseContainer(target.within);
  if (container?.isItem) return locateItems(frame, container).flatMap((item) => locateIn(item, target, by));
  if (container === undefined) return locateIn(frame, target, by);
  const part = locateByRole(frame, container.role, container.name);
  if (by === 'within') return [locateAsRecorded(part, target)];
  return locateIn(by === 'only_such_role' ? part : frame, target, by);
}

function locateIn(scope: Scope, target: Target, by: FoundBy): Locator[] {
  const { role, label, placeholder, text, test_id } = target;
  switch (by) {
    case 'role_and_name':
      return [locateAsRecorded(scope, target)];
    case 'within':
      return [];
    case 'label':
      return label === null ? [] : [scope.getByLabel(label, { exact: true }).and(scope.locator(fields))];
    case 'placeholder':
      return placeholder === null ? [] : [scope.getByPlaceholder(placeholder, { exact: true })];
    case 'text':
      return text === null ? [] : [scope.getByText(text, { exact: true })];
    case 'test_id':
      return test_id === null ? [] : [scope.locator(renderTestId(test_id))];
    case 'only_such_role':
      return target.is_destructive || role === 'generic' ? [] : [locateByRole(scope, role, null)];
  }
}

/** What can have a label. Other elements with this name, such as the form around a field, are something else. */
const fields = 'input, textarea, select, [contenteditable]';

/** An element without a name is recognised by its text. */
const locateAsRecorded = (scope: Scope, { role, name, text }: Target): Locator =>
  name === '' && text !== null ? scope.getByText(text, { exact: true }) : locateByRole(scope, role, name);

/** `role` comes from Playwright's own snapshot, or from a recording: a role that does not exist is found nowhere. */
export const locateByRole = (scope: Scope, role: string, name: string | null): Locator =>
  scope.getByRole(role as Parameters<Frame['getByRole']>[0], name === null ? {} : { name, exact: true });

/** Those in which something has exactly this text, and those that merely contain it: "Milk" is also in "Milkshake". */
function locateItems(frame: Frame, { role, name }: Container): Locator[] {
  const items = locateByRole(frame, role, null);
  if (name === null) return [items];
  const element = frame.getByText(name, { exact: true });
  const ownText = frame.locator(`:text-is(${JSON.stringify(name)})`); // beside other elements: `<li>Milk <button>…`
  const exact = items
    .filter({ has: element })
    .or(items.filter({ has: ownText }))
    .or(items.and(ownText));
  return [exact, items.filter({ hasText: name })];
}

const renderTestId = (id: string): string =>
  ['data-testid', 'data-test-id', 'data-test'].map((name) => `[${name}=${JSON.stringify(id)}]`).join(', ');
