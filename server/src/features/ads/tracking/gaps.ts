// Owns comparing what an app's files do with conversion tags with what its mappings ask for. Pure.
import type { MappingRow, TrackingGap } from './contract.ts';
import { findGoalOf, type Goal } from './goals.ts';
import { proposeCall, proposeTag } from './prompt.ts';
import { isPage, type TagCall, type TagUse } from './tag-use.ts';

export interface Wiring {
  /** Empty: the account has no tag yet. */
  readonly conversionId: string;
  readonly goals: readonly Goal[];
  /** Those that are enabled. */
  readonly mappings: readonly MappingRow[];
}

export interface ScannedFiles {
  /** All pages, also those without a tag. */
  readonly pages: readonly string[];
  readonly uses: ReadonlyMap<string, TagUse>;
  /** Files that could not be read, or not completely: what is missing may be there. */
  readonly unread: readonly string[];
}

export const landingPage = 'index.html';

export const findGaps = (files: ScannedFiles, wiring: Wiring): TrackingGap[] => [
  ...findTagGaps(files, wiring.conversionId),
  ...findCallGaps(listCalls(files), wiring, files.unread.length > 0),
];

/**
 * A tag counts for the landing page if it is in the page, or in a script that the page names. What scripts load is not followed: a
 * tag in another script is a warning. For other pages, a tag in any script counts.
 */
function findTagGaps({ pages, uses, unread }: ScannedFiles, conversionId: string): TrackingGap[] {
  const gap = (severity: TrackingGap['severity'], file_path: string | null, message: string): TrackingGap => ({
    id: 'missing-base-tag',
    severity,
    file_path,
    message,
    composer_prompt: null,
  });
  const propose = (found: TrackingGap): TrackingGap => ({ ...found, composer_prompt: proposeTag(conversionId) });
  if (conversionId === '')
    return [
      gap('error', null, 'The advertising account has no tag yet. Call buildBootstrapPrompt, which creates its goals.'),
    ];
  const inScripts = [...uses].filter(([path]) => !isPage(path)).map(([, use]) => use);
  // One script of the platform serves several ids: it may be loaded with another one.
  const loads = (use: TagUse) => use.loads.length > 0;
  const configures = (use: TagUse) => use.configures.includes(conversionId);
  const hasTag = (found: readonly TagUse[]) => found.some(loads) && found.some(configures);
  const listUses = (paths: readonly string[]) => paths.flatMap((path) => uses.get(path) ?? []);
  // Once, because there may be thousands of pages.
  const [scriptLoads, scriptConfigures] = [inScripts.some(loads), inScripts.some(configures)];
  const mayHaveTag = (page: string) => {
    const own = listUses([page]);
    return (scriptLoads || own.some(loads)) && (scriptConfigures || own.some(configures));
  };
  if (!pages.includes(landingPage))
    return [propose(gap('error', null, 'The app has no page index.html that could carry the base tag.'))];
  if (!hasTag(listUses([landingPage, ...(uses.get(landingPage)?.includes ?? [])]))) {
    if (mayHaveTag(landingPage))
      return [
        gap(
          'warning',
          landingPage,
          `The base tag ${conversionId} is only in scripts that the page does not name itself. Make sure that it loads them, or put the tag into the page.`,
        ),
      ];
    if (unread.length > 0)
      return [
        gap(
          'error',
          landingPage,
          `Some files could not be read, so it is not known whether the page loads and configures the base tag ${conversionId}.`,
        ),
      ];
    return [propose(gap('error', landingPage, `The page does not load and configure the base tag ${conversionId}.`))];
  }
  const unknown = new Set(unread);
  const without = pages.filter((page) => !unknown.has(page) && !mayHaveTag(page));
  if (without[0] === undefined) return [];
  const missing = `The base tag is missing in ${without.length} of ${pages.length} pages, first in this one.`;
  return [propose(gap('warning', without[0], missing))];
}

interface PlacedCall extends TagCall {
  readonly path: string;
}

export const listCalls = ({ uses }: ScannedFiles): PlacedCall[] =>
  [...uses].flatMap(([path, { calls }]) => calls.map((call) => ({ ...call, path })));

/**
 * Each mapping needs a call with the label of its goal. Mappings of the same goal need one each, because nothing else tells
 * their calls apart. A call with a wrong label of this account is taken for that of a mapping without one.
 */
function findCallGaps(
  calls: readonly PlacedCall[],
  { conversionId, goals, mappings }: Wiring,
  hasUnread: boolean,
): TrackingGap[] {
  const targetOf = (goal: Goal | undefined) =>
    goal?.conversionId && goal.label ? `${goal.conversionId}/${goal.label}` : undefined;
  const known = new Set(goals.flatMap((goal) => targetOf(goal) ?? []));
  const isOwn = ({ sendTo }: TagCall) => sendTo?.startsWith(`${conversionId}/`) ?? false;
  const unused = Map.groupBy(calls, ({ sendTo }) => sendTo);
  const mislabelled = calls.filter((call) => isOwn(call) && !known.has(call.sendTo ?? ''));
  const gaps: TrackingGap[] = [];
  const [mapped, explained] = [new Set<string | null>(), new Set<PlacedCall>()];
  for (const mapping of mappings) {
    const target = targetOf(findGoalOf(goals, mapping));
    if (target === undefined) gaps.push(describeUnpublished(mapping));
    else {
      mapped.add(target);
      if (unused.get(target)?.shift() !== undefined) continue;
      const wrong = hasUnread ? undefined : mislabelled.shift();
      if (wrong !== undefined) explained.add(wrong);
      gaps.push(
        wrong === undefined
          ? describeMissing(mapping, hasUnread ? null : proposeCall(conversionId, goals, mapping))
          : describeWrong(mapping, wrong, target),
      );
    }
  }
  const unmapped = calls.filter((call) => !mapped.has(call.sendTo) && !explained.has(call));
  return [...gaps, ...unmapped.map((call, index) => describeUnmapped(call, index + 1, isOwn(call)))];
}

const nameOf = ({ entity_name, trigger_action, conversion_type }: MappingRow) =>
  `${entity_name} ${trigger_action} as ${conversion_type}`;

const describeUnpublished = (mapping: MappingRow): TrackingGap => ({
  id: `missing-call-${mapping.id}`,
  severity: 'error',
  file_path: null,
  message: `The goal of ${nameOf(mapping)} has no published tag. Call buildBootstrapPrompt again in a minute, or correct conversion_action_id.`,
  composer_prompt: null,
});

/** The line is that of what was scanned; the assistant may have a later state. */
const describeWrong = (mapping: MappingRow, { path, line, sendTo }: PlacedCall, target: string): TrackingGap => ({
  id: `wrong-label-${mapping.id}`,
  severity: 'error',
  file_path: path,
  message: `Line ${line} reports to a label that the account does not have. ${nameOf(mapping)} must report to ${target}.`,
  composer_prompt: `In the file that is published as ${path}, find the conversion with send_to ${JSON.stringify(sendTo)}, and change its send_to to '${target}'. Change nothing else.`,
});

/** `proposal` is null if some files could not be read: the call may be in one of them, and must not be made twice. */
const describeMissing = (mapping: MappingRow, proposal: string | null): TrackingGap => ({
  id: `missing-call-${mapping.id}`,
  severity: 'error',
  file_path: null,
  message:
    proposal === null
      ? `No file that could be read reports ${nameOf(mapping)}. Some files could not be read.`
      : `No file reports ${nameOf(mapping)}.`,
  composer_prompt: proposal,
});

const describeUnmapped = ({ path, line, sendTo }: PlacedCall, number: number, isOwn: boolean): TrackingGap => ({
  id: `unmapped-call-${number}`,
  severity: 'warning',
  file_path: path,
  message: explainUnmapped(line, sendTo, isOwn),
  composer_prompt: null,
});

function explainUnmapped(line: number, sendTo: string | null, isOwn: boolean): string {
  if (sendTo === null)
    return `Line ${line} reports a conversion whose send_to is computed, so that it can't be compared with the mappings. Write it as a literal text.`;
  return isOwn
    ? `Line ${line} reports a conversion that no enabled mapping asks for. Create a mapping for it, or remove the call.`
    : `Line ${line} reports a conversion to another account. If that is intended, leave it as it is.`;
}
