// Resolves a place to an element on the page, by a ref from the last snapshot or by a recorded target, and
// describes the element that was found.
import type { Locator, Page } from 'playwright-core';
import { type FoundElement, findTarget, type SearchView } from './find.ts';
import { readDetails } from './in-page.ts';
import { describeTarget, isNoWorse } from './target.ts';
import { findNodes, findPath, readTree, type TreeNode } from './tree.ts';
import type { FoundBy, Place, Target } from './types.ts';

/** The last snapshot, and its page. */
export interface TakenSnapshot {
  readonly page: Page;
  readonly nodes: readonly TreeNode[];
}

export interface Places extends SearchView {
  readonly taken: TakenSnapshot | undefined;
}

export type LocatedPlace =
  | {
      readonly outcome: 'found';
      readonly locator: Locator;
      /** The recorded target, or the element's description if the place was a ref. */
      readonly target: Target;
      readonly found_by: FoundBy | null;
      readonly now: Target | null;
    }
  | { readonly outcome: 'not_found' | 'ambiguous'; readonly why: string };

const describeMs = 5_000;

export async function locatePlace(
  places: Places,
  place: Place,
  features: readonly FoundBy[],
  deadline: number,
): Promise<LocatedPlace> {
  if ('ref' in place) return locateRef(places, place.ref);
  const { target } = place;
  let now: Target | null = null;
  /** An element that was not found as recorded must not be more harmful than the recorded one. */
  const accept = async ({ locator, by }: FoundElement): Promise<boolean> => {
    if (by === 'role_and_name') return true;
    const element = await describeElement(places.page, locator, target.role).catch(() => null);
    if (element === null || !isNoWorse(element, target)) return false;
    now = element;
    return true;
  };
  const search = await findTarget(places, target, features, deadline, accept);
  const { found } = search;
  if (found === undefined) return explainSearch(target, search.isAmbiguous);
  return { outcome: 'found', locator: found.locator, target, found_by: found.by, now };
}

function explainSearch(target: Target, isAmbiguous: boolean): LocatedPlace {
  const element = nameTarget(target);
  return isAmbiguous
    ? { outcome: 'ambiguous', why: `Several elements match ${element}.` }
    : { outcome: 'not_found', why: `There is no ${element} on the page.` };
}

export const nameTarget = ({ role, name, text, within }: Target): string =>
  [role, name === '' ? (text ?? '') : JSON.stringify(name), within === null ? '' : `in ${within}`]
    .filter(Boolean)
    .join(' ');

async function locateRef({ page, taken }: Places, ref: string): Promise<LocatedPlace> {
  const path = taken?.page === page ? findPath(taken.nodes, ref) : [];
  const locator = page.locator(`aria-ref=${ref.replaceAll(/[^a-z0-9]/gi, '')}`);
  const isThere = path.length > 0 && (await locator.count().catch(() => 0)) === 1;
  if (!isThere)
    return { outcome: 'not_found', why: 'The last snapshot does not contain this ref, or the element is gone.' };
  const details = await locator.evaluate(readDetails, undefined, { timeout: describeMs });
  return { outcome: 'found', locator, target: describeTarget(path, details), found_by: null, now: null };
}

/** Describes an element that was found without a snapshot. */
async function describeElement(page: Page, locator: Locator, role: string): Promise<Target> {
  const details = await locator.evaluate(readDetails, undefined, { timeout: describeMs });
  const [own] = readTree(await locator.ariaSnapshotJSON({ mode: 'default', timeout: describeMs }));
  const nodes = readTree(await page.ariaSnapshotJSON({ mode: 'ai', timeout: describeMs }));
  const [element = { role, name: '' }] = own === undefined ? [] : [own];
  for (const { ref = '' } of findNodes(nodes, element.role, element.name ?? '')) {
    const other = await page.locator(`aria-ref=${ref}`).elementHandle({ timeout: describeMs });
    if (await locator.evaluate((one, another) => one === another, other, { timeout: describeMs }))
      return describeTarget(findPath(nodes, ref), details);
  }
  return describeTarget([element], details);
}
