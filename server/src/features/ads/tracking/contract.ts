// The API schemas for conversion tracking (docs/api/ads.md#conversion-tracking).
import { z } from 'zod';
import type { PlatformConversionAction } from '../../../gateways/ad-platform/index.ts';
import {
  answer,
  body,
  count,
  createdDate,
  described,
  id,
  oneOf,
  optional,
  pageQuery,
  pattern,
  query,
  text,
  updatedDate,
} from '../../../kit/http/shapes.ts';
import type { MappingRow } from '../store/rows.ts';

/** The categories of an account's standard goals. */
export const conversionTypes = [
  'PURCHASE',
  'ADD_TO_CART',
  'BEGIN_CHECKOUT',
  'SIGNUP',
  'SUBMIT_LEAD_FORM',
  'CONTACT',
  'REQUEST_QUOTE',
  'BOOK_APPOINTMENT',
  'SUBSCRIBE_PAID',
  'PHONE_CALL_LEAD',
] as const;
export type ConversionType = (typeof conversionTypes)[number];

const triggerActions = ['create', 'update', 'delete'] as const;

export const ListQuery = query({ ...pageQuery });

export const ConversionAction = answer('ConversionAction', {
  platform_action_id: described(z.string(), "The conversion action's id at the ad platform.", '7120945511'),
  name: described(z.string(), "The conversion action's name at the ad platform.", 'Plinth PURCHASE'),
  category: described(z.string(), 'The category of conversion that the action counts.', 'PURCHASE'),
  status: described(z.string(), "The conversion action's status at the ad platform.", 'ENABLED'),
  conversion_id: described(z.string(), "The id of the account's tag; empty until it is known.", 'AW-16512034981'),
  conversion_label: described(
    z.string(),
    "The label of the action's tag; empty until the ad platform publishes it.",
    'aBcD1eFgH2',
  ),
});

export const presentAction = (action: PlatformConversionAction): z.input<typeof ConversionAction> => ({
  platform_action_id: action.id,
  name: action.name,
  category: action.category,
  status: action.status,
  conversion_id: action.conversionId ?? '',
  conversion_label: action.label ?? '',
});

const mappingFields = {
  trigger_action: described(
    optional(oneOf(...triggerActions)),
    'The change to a record that counts as a conversion; `create` by default.',
  ),
  conversion_action_id: described(
    optional(pattern(/^(?:[0-9]{1,20})?$/, 20)),
    "The conversion action's id at the ad platform; if empty, the standard goal of `conversion_type` is used.",
    '7120945511',
  ),
  value_field: described(
    optional(text(0, 64)),
    "The record's field for the conversion value; empty if there is none.",
    'total',
  ),
  currency_field: described(
    optional(text(0, 64)),
    "The record's field for the currency; empty if there is none.",
    'currency',
  ),
  is_enabled: described(optional(z.boolean()), 'Whether the mapping is enabled.'),
};

const entityNameText = ['The entity whose records the mapping is about.', 'Order'] as const;
const conversionTypeText = 'The category of the conversion.';

export const NewConversionMapping = body({
  entity_name: described(text(1, 64), ...entityNameText),
  conversion_type: described(oneOf(...conversionTypes), conversionTypeText),
  ...mappingFields,
});
export type NewConversionMapping = z.output<typeof NewConversionMapping>;

export const ConversionMappingChange = body({
  entity_name: described(optional(text(1, 64)), ...entityNameText),
  conversion_type: described(optional(oneOf(...conversionTypes)), conversionTypeText),
  ...mappingFields,
});
export type ConversionMappingChange = z.output<typeof ConversionMappingChange>;

export const ConversionMapping = answer('ConversionMapping', {
  id: described(id, 'The id of the mapping.', '0198c20d-7e02-7b19-a4c3-60d8f1b5e927'),
  account_id: described(id, 'The advertising account of the app.', '0198c20d-6a1b-7c58-9e42-3f7ab05d91c6'),
  entity_name: described(z.string(), ...entityNameText),
  trigger_action: described(oneOf(...triggerActions), 'The change to a record that counts as a conversion.'),
  conversion_type: described(oneOf(...conversionTypes), conversionTypeText),
  conversion_action_id: described(
    z.string(),
    "The conversion action's id at the ad platform; if empty, the standard goal of `conversion_type` is used.",
    '7120945511',
  ),
  value_field: described(z.string(), "The record's field for the conversion value; empty if there is none.", 'total'),
  currency_field: described(z.string(), "The record's field for the currency; empty if there is none.", 'currency'),
  is_enabled: described(z.boolean(), 'Whether the mapping is enabled.'),
  created_date: createdDate,
  updated_date: updatedDate,
});

export const presentMapping = (row: MappingRow): z.input<typeof ConversionMapping> => ({
  id: row.id,
  account_id: row.account_id,
  entity_name: row.entity_name,
  trigger_action: row.trigger_action,
  conversion_type: row.conversion_type,
  conversion_action_id: row.conversion_action_id,
  value_field: row.value_field,
  currency_field: row.currency_field,
  is_enabled: row.is_enabled,
  created_date: row.created_date.toISOString(),
  updated_date: row.updated_date.toISOString(),
});

export const TrackingScript = answer('TrackingScript', {
  conversion_id: described(z.string(), "The id of the account's tag; empty until it is known.", 'AW-16512034981'),
  script: described(
    z.string(),
    'The base tag, as HTML for the head of every page; empty until the account has a goal.',
    '<script async src="https://www.googletagmanager.com/gtag/js?id=AW-16512034981"></script>',
  ),
});

const noAccount = described(oneOf('no_ads_account').optional(), 'Why the request was skipped; absent if it was not.');

const TrackingGap = answer('TrackingGap', {
  id: described(z.string(), 'The kind of gap, with the id of the mapping if there is one.', 'missing-base-tag'),
  severity: described(oneOf('error', 'warning'), '`error` if conversions are lost; otherwise `warning`.'),
  file_path: described(
    z.string().nullable(),
    'The published file that has the gap; null if the gap concerns no specific file.',
    'index.html',
  ),
  message: described(
    z.string(),
    'A description of the gap and how to close it.',
    'The page does not load and configure the base tag AW-16512034981.',
  ),
  composer_prompt: described(
    z.string().nullable(),
    'An instruction for `sendChatMessage` that closes the gap; null if there is none.',
    'Report a conversion in this app. Change nothing else.',
  ),
});
export type TrackingGap = z.output<typeof TrackingGap>;

export const TrackingScan = answer('TrackingScan', {
  is_clean: described(z.boolean(), 'Whether all files were read and no gap was found.'),
  scanned: described(z.boolean(), 'Whether the files were read.'),
  calls_count: described(count, 'How many calls in the files report a conversion.', 2),
  mappings_count: described(count, 'How many mappings the app has.', 2),
  enabled_mappings_count: described(count, "How many of the app's mappings are enabled.", 2),
  gaps: described(z.array(TrackingGap), 'The gaps in conversion tracking, at most 200.'),
  skipped_reason: noAccount,
});

export const BootstrapRequest = body({
  wire_events: described(
    optional(z.boolean()),
    'Whether the instruction also covers reporting conversions, not only installing the base tag; false by default.',
  ),
});

export const BootstrapPrompt = answer('BootstrapPrompt', {
  composer_prompt: described(
    z.string(),
    'The instruction to send with `sendChatMessage`; empty if the request was skipped.',
    'Install conversion tracking in this app. Change nothing else.',
  ),
  conversion_id: described(
    z.string().optional(),
    'The tag id in the instruction; empty if the assistant must look it up, absent if the request was skipped.',
    'AW-16512034981',
  ),
  actions_created_or_existing: described(
    count.optional(),
    'How many of the ten standard goals the account now has; absent if the request was skipped.',
    10,
  ),
  wired_mappings: described(
    count.optional(),
    'How many mappings the instruction covers, or categories if no mapping is enabled; absent if the request was skipped.',
    2,
  ),
  skipped_reason: noAccount,
});

const TrackingCheckItem = answer('TrackingCheckItem', {
  name: described(oneOf('base_tag_on_page', 'no_error_gaps', 'goal_published'), 'The name of the check.'),
  ok: described(z.boolean(), 'Whether the check passed.'),
  detail: described(
    z.string(),
    'The result of the check and, if it failed, what to do.',
    'The page loads the tag AW-16512034981.',
  ),
});
export type TrackingCheckItem = z.output<typeof TrackingCheckItem>;

export const TrackingVerification = answer('TrackingVerification', {
  verified: described(z.boolean(), 'Whether all checks passed.'),
  checks: described(z.array(TrackingCheckItem), 'The result of each check.'),
  enabled_campaign_ids: described(
    z.array(id),
    'The campaigns that were waiting for verification and have been enabled.',
    [],
  ),
});
