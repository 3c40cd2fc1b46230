// Owns the schemas of conversion tracking as a caller sends and receives them (docs/api/ads.md#conversion-tracking).
import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { PlatformConversionAction } from '../../../gateways/ad-platform/index.ts';
import {
  answer,
  body,
  count,
  id,
  oneOf,
  optional,
  pageQuery,
  pattern,
  query,
  text,
  timestamp,
} from '../../../kit/http/shapes.ts';
import type { Tables } from '../../../tables.ts';

/** The categories of the goals that an account has. */
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
  platform_action_id: z.string(),
  name: z.string(),
  category: z.string(),
  status: z.string(),
  conversion_id: z.string(),
  conversion_label: z.string(),
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
  trigger_action: optional(oneOf(...triggerActions)),
  conversion_action_id: optional(pattern(/^(?:[0-9]{1,20})?$/, 20)),
  value_field: optional(text(0, 64)),
  currency_field: optional(text(0, 64)),
  is_enabled: optional(z.boolean()),
};

export const NewConversionMapping = body({
  entity_name: text(1, 64),
  conversion_type: oneOf(...conversionTypes),
  ...mappingFields,
});
export type NewConversionMapping = z.output<typeof NewConversionMapping>;

export const ConversionMappingChange = body({
  entity_name: optional(text(1, 64)),
  conversion_type: optional(oneOf(...conversionTypes)),
  ...mappingFields,
});
export type ConversionMappingChange = z.output<typeof ConversionMappingChange>;

export const ConversionMapping = answer('ConversionMapping', {
  id,
  account_id: id,
  entity_name: z.string(),
  trigger_action: oneOf(...triggerActions),
  conversion_type: oneOf(...conversionTypes),
  conversion_action_id: z.string(),
  value_field: z.string(),
  currency_field: z.string(),
  is_enabled: z.boolean(),
  created_date: timestamp,
  updated_date: timestamp,
});

export type MappingRow = Selectable<Tables['conversion_mappings']>;

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

export const TrackingScript = answer('TrackingScript', { conversion_id: z.string(), script: z.string() });

const noAccount = oneOf('no_ads_account').optional();

const TrackingGap = answer('TrackingGap', {
  id: z.string(),
  severity: oneOf('error', 'warning'),
  file_path: z.string().nullable(),
  message: z.string(),
  composer_prompt: z.string().nullable(),
});
export type TrackingGap = z.output<typeof TrackingGap>;

export const TrackingScan = answer('TrackingScan', {
  is_clean: z.boolean(),
  scanned: z.boolean(),
  calls_count: count,
  mappings_count: count,
  enabled_mappings_count: count,
  gaps: z.array(TrackingGap),
  skipped_reason: noAccount,
});

export const BootstrapRequest = body({ wire_events: optional(z.boolean()) });

export const BootstrapPrompt = answer('BootstrapPrompt', {
  composer_prompt: z.string(),
  conversion_id: z.string().optional(),
  actions_created_or_existing: count.optional(),
  wired_mappings: count.optional(),
  skipped_reason: noAccount,
});

const TrackingCheckItem = answer('TrackingCheckItem', {
  name: oneOf('base_tag_on_page', 'no_error_gaps', 'goal_published'),
  ok: z.boolean(),
  detail: z.string(),
});
export type TrackingCheckItem = z.output<typeof TrackingCheckItem>;

export const TrackingVerification = answer('TrackingVerification', {
  verified: z.boolean(),
  checks: z.array(TrackingCheckItem),
  enabled_campaign_ids: z.array(id),
});
