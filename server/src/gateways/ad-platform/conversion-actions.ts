// Reads conversion actions. The platform publishes an action's tag a few seconds after creating the action.
import type { Calls } from './calls.ts';
import { asArray, asObject, asText, type Json } from './json.ts';
import type { Reading } from './outcome.ts';
import { search } from './search.ts';

export interface PlatformConversionAction {
  readonly id: string;
  readonly resourceName: string;
  readonly name: string;
  readonly category: string;
  readonly status: string;
  /** `AW-` followed by digits. Null until the tag is published. */
  readonly conversionId: string | null;
  readonly label: string | null;
}

const maxActions = 1_000;
const query =
  "SELECT conversion_action.id, conversion_action.resource_name, conversion_action.name, conversion_action.category, conversion_action.status, conversion_action.tag_snippets FROM conversion_action WHERE conversion_action.type = 'WEBPAGE' AND conversion_action.status != 'REMOVED' ORDER BY conversion_action.id";

export async function listConversionActions(
  calls: Calls,
  customerId: string,
): Promise<Reading<readonly PlatformConversionAction[]>> {
  const found = await search(calls, customerId, query, maxActions);
  if (found.outcome !== 'read') return found;
  return { ...found, result: found.result.rows.map((row) => toAction(asObject(row.conversionAction))) };
}

function toAction(action: Json): PlatformConversionAction {
  const tag = readTag(asArray(action.tagSnippets).map(asObject));
  return {
    id: asText(action.id),
    resourceName: asText(action.resourceName),
    name: asText(action.name),
    category: asText(action.category),
    status: asText(action.status),
    conversionId: tag?.conversionId ?? null,
    label: tag?.label ?? null,
  };
}

/** A web page's event snippet contains `'send_to': 'AW-123456789/AbC-D_efG'`. */
function readTag(snippets: readonly Json[]): { conversionId: string; label: string } | undefined {
  const html = snippets.find(({ type, pageFormat }) => type === 'WEBPAGE' && pageFormat === 'HTML');
  const match = /['"]send_to['"]\s*:\s*['"](AW-\d{1,20})\/([\w-]{1,100})['"]/.exec(asText(html?.eventSnippet));
  return match?.[1] === undefined || match[2] === undefined ? undefined : { conversionId: match[1], label: match[2] };
}
