// The comparison of an app's conversion tags with its mappings. Pure.
import type { MappingRow } from '../store/rows.ts';
import type { TrackingGap } from './contract.ts';
import { findGoalOf, type Goal } from './goals.ts';
import { proposeCall, proposeTag } from './prompt.ts';
import { isPage, type TagCall, type TagUse } from './tag-use.ts';

export interface Wiring {
  /** Empty if the account has no tag yet. */
  readonly conversionId: string;
  readonly goals: readonly Goal[];
  /** The enabled mappings. */
  readonly mappings: readonly MappingRow[];
}

export interface ScannedFiles {
  /** All pages, with or without a tag. */
  readonly pages: readonly string[];
  readonly uses: ReadonlyMap<string, TagUse>;
  /** Files that could not be read completely and may contain the missing parts. */
  readonly unread: readonly string[];
}

export const landingPage = 'index.html';

export const findGaps = (files: ScannedFiles, wiring: Wiring): TrackingGap[] => [
  ...findTagGaps(files, wiring.conversionId),
  ...findCallGaps(listCalls(files), wiring, files.unread.length > 0),
];

/**
 * The landing page has the tag if the page itself or a script that it references contains it. Scripts loaded by other
 * scripts are not followed, so a tag in any other script gives a warning. For other pages, a tag in any script counts.
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
      gap('error', null, 'The advertising account has no tag yet. Call buildBootstrapPrompt to create its goals.'),
    ];
  const inScripts = [...uses].filter(([path]) => !isPage(path)).map(([, use]) => use);
  // One platform script serves several ids, so it may be loaded with a different id.
  const loads = (use: TagUse) => use.loads.length > 0;
  const configures = (use: TagUse) => use.configures.includes(conversionId);
  const hasTag = (found: readonly TagUse[]) => found.some(loads) && found.some(configures);
  const listUses = (paths: readonly string[]) => paths.flatMap((path) => uses.get(path) ?? []);
  // Computed once, because there may be thousands of pages.
  const [scriptLoads, scriptConfigures] = [inScripts.some(loads), inScripts.some(configures)];
  const mayHaveTag = (page: string) => {
    const own = listUses([page]);
    return (scriptLoads || own.some(loads)) && (scriptConfigures || own.some(configures));
  };
  if (!pages.includes(landingPage))
    return [propose(gap('error', null, 'The app has no index.html page for the base tag.'))];
  if (!hasTag(listUses([landingPage, ...(uses.get(landingPage)?.includes ?? [])]))) {
    if (mayHaveTag(landingPage))
      return [
        gap(
          'warning',
          landingPage,
          `The base tag ${conversionId} appears only in scripts that the page does not reference directly. Make sure that the page loads them, or add the tag to the page itself.`,
        ),
      ];
    if (unread.length > 0)
      return [
        gap(
          'error',
          landingPage,
          `Some files could not be read, so Plinth can't tell whether the page loads and configures the base tag ${conversionId}.`,
        ),
      ];
    return [propose(gap('error', landingPage, `The page does not load and configure the base tag ${conversionId}.`))];
  }
  const unknown = new Set(unread);
  const without = pages.filter((page) => !unknown.has(page) && !mayHaveTag(page));
  if (without[0] === undefined) return [];
  const missing = `The base tag is missing from ${without.length} of ${pages.length} pages, starting with this one.`;
  return [propose(gap('warning', without[0], missing))];
}

interface PlacedCall extends TagCall {
  readonly path: string;
}

export const listCalls = ({ uses }: ScannedFiles): PlacedCall[] =>
  [...uses].flatMap(([path, { calls }]) => calls.map((call) => ({ ...call, path })));

/**
 * Each mapping needs a call with its goal's label. Mappings with the same goal need one call each, because nothing else
 * distinguishes their calls. A call with an unknown label for this account is attributed to a mapping without a call.
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
  message: `The goal for ${nameOf(mapping)} has no published tag. Call buildBootstrapPrompt again in a minute, or fix conversion_action_id.`,
  composer_prompt: null,
});

/** The line number is from the scanned version. The assistant may see a later one. */
const describeWrong = (mapping: MappingRow, { path, line, sendTo }: PlacedCall, target: string): TrackingGap => ({
  id: `wrong-label-${mapping.id}`,
  severity: 'error',
  file_path: path,
  message: `Line ${line} reports to a label that does not exist in the account. ${nameOf(mapping)} must report to ${target}.`,
  composer_prompt: `In the file that is published as ${path}, find the conversion with send_to ${JSON.stringify(sendTo)}, and change its send_to to '${target}'. Change nothing else.`,
});

/** `proposal` is null if some files could not be read, because one of them may already contain the call. */
const describeMissing = (mapping: MappingRow, proposal: string | null): TrackingGap => ({
  id: `missing-call-${mapping.id}`,
  severity: 'error',
  file_path: null,
  message:
    proposal === null
      ? `No readable file reports ${nameOf(mapping)}, and some files could not be read.`
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
    return `Line ${line} reports a conversion whose send_to is computed, so it can't be compared with the mappings. Write it as a string literal.`;
  return isOwn
    ? `Line ${line} reports a conversion that no enabled mapping covers. Create a mapping for it, or remove the call.`
    : `Line ${line} reports a conversion to another account. If that is intended, leave it as it is.`;
}
