// The prompts that tell an assistant how to add conversion tracking to an app. Pure.
import type { MappingRow } from '../store/rows.ts';
import { type ConversionType, conversionTypes } from './contract.ts';
import { findGoalOf, findStandardGoal, type Goal } from './goals.ts';
import { renderCall, renderTag } from './tag.ts';

export interface PromptInput {
  readonly appId: string;
  /** Empty if the assistant must look it up. */
  readonly conversionId: string;
  readonly goals: readonly Goal[];
  /** The conversions to report. Undefined means only the base tag. Empty means any suitable category. */
  readonly mappings: readonly MappingRow[] | undefined;
}

export const writeBootstrapPrompt = ({ appId, conversionId, goals, mappings }: PromptInput): string =>
  [
    'Install conversion tracking in this app. Change nothing else.',
    ...(conversionId === '' ? [explainLookUp(appId)] : []),
    `# The base tag\n${describeTag(conversionId)}`,
    ...(mappings === undefined ? [] : [`# Conversions\n${describeConversions(conversionId, goals, mappings)}`]),
  ].join('\n\n');

/** Placeholders for unknown ids. */
const unknownId = 'CONVERSION_ID';
const unknownLabel = (type: ConversionType, actionId = '') =>
  `LABEL_OF_${actionId === '' ? type : `ACTION_${actionId}`}`;

const explainLookUp = (appId: string) =>
  `The ad platform has not published all ids of this account yet. Before you change a file, look them up: listConversionActions (GET /api/apps/${appId}/ads-platform/conversion-actions) answers the conversion_id and the conversion_label of each action. Put the conversion_id in place of ${unknownId}, the label of the action named Plinth X in place of LABEL_OF_X, and the label of the action with the platform_action_id N in place of LABEL_OF_ACTION_N. If you can't call it, ask the person for them. Never invent an id.`;

const describeTag = (conversionId: string) =>
  `Put this into the <head> of every HTML page that is published, once per page. Leave a page alone that has it, and keep tags with other ids: they belong to other accounts.\n\n\`\`\`html\n${renderTag(conversionId || unknownId)}\n\`\`\``;

const callRules =
  'Call it once, right after the change has succeeded; not if it fails, and not when a page is only opened. Keep send_to as a literal text: it is looked for in the files.';

function describeConversions(conversionId: string, goals: readonly Goal[], mappings: readonly MappingRow[]): string {
  if (mappings.length === 0) {
    const offered = conversionTypes.map(
      (type) => `- ${type}: \`${renderGoalCall(conversionId, findStandardGoal(goals, type), type)}\``,
    );
    return [
      `Report what people do in this app that is worth something to its owner. Choose from these categories what fits, at most one for each thing that people do, and leave out the others. ${callRules}`,
      ...offered,
    ].join('\n');
  }
  const wired = mappings.map((mapping) => `- ${describeMapping(conversionId, goals, mapping)}`);
  return [
    `Report each of these. ${callRules} \`record\` stands for the record that was changed. If the app has no code that does one of them, say so and leave it out.`,
    ...wired,
  ].join('\n');
}

const changes = { create: 'created', update: 'updated', delete: 'deleted' } as const;

function describeMapping(conversionId: string, goals: readonly Goal[], mapping: MappingRow): string {
  const { entity_name, trigger_action, conversion_type } = mapping;
  const call = renderGoalCall(conversionId, findGoalOf(goals, mapping), conversion_type, mapping);
  return `When a record of ${entity_name} was ${changes[trigger_action]} (entities.${entity_name}.${trigger_action}), as ${conversion_type}: \`${call}\``;
}

const noFields = { value_field: '', currency_field: '', conversion_action_id: '' };

const renderGoalCall = (
  conversionId: string,
  goal: Goal | undefined,
  type: ConversionType,
  fields: Pick<MappingRow, 'value_field' | 'currency_field' | 'conversion_action_id'> = noFields,
) =>
  renderCall({
    conversionId: goal?.conversionId ?? (conversionId || unknownId),
    label: goal?.label ?? unknownLabel(type, fields.conversion_action_id),
    value: readField(fields.value_field),
    currency: readField(fields.currency_field),
  });

const readField = (name: string): string => {
  if (name === '') return '';
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `record.${name}` : `record[${JSON.stringify(name)}]`;
};

// ---- a scan's proposals

export const proposeTag = (conversionId: string): string =>
  `Install the base tag of conversion tracking in this app. Change nothing else. ${describeTag(conversionId)}`;

export const proposeCall = (conversionId: string, goals: readonly Goal[], mapping: MappingRow): string =>
  `Report a conversion in this app. Change nothing else. ${callRules} \`record\` stands for the record that was changed. ${describeMapping(conversionId, goals, mapping)}`;
