// Owns the shape of errors in the document, and the members that some codes have in addition.
import type { JsonSchema } from '../kit/http/json-schema.ts';

const integer = (description: string): JsonSchema => ({ type: 'integer', description });
const text = (description: string): JsonSchema => ({ type: 'string', description });
const texts = (description: string): JsonSchema => ({ type: 'array', items: { type: 'string' }, description });

const limitBytes = { limit_bytes: integer('The most bytes that are accepted.') };
const revision = { revision: integer('The current revision.') };
const fields = { fields: texts('The fields at fault.') };
const aboutCampaign = {
  campaign_state: {
    type: 'string',
    enum: ['absent', 'paused', 'live', 'unknown', 'removed'],
    description: 'What is known of the campaign. `unknown`: it may be spending.',
  },
  campaign_id: text('The campaign, if there is one.'),
  launch_id: text('The launch, if there is one.'),
};

/** By code. A test compares these with every error that the tests receive. */
export const membersOfCode: Readonly<Record<string, JsonSchema>> = {
  account_billing_hold: aboutCampaign,
  ad_platform_timeout: aboutCampaign,
  already_launched: aboutCampaign,
  budget_not_multiple: { step_micros: integer('The smallest amount of the currency, in micros.') },
  budget_out_of_range: {
    min_daily_budget_micros: integer('The smallest daily budget.'),
    max_daily_budget_micros: integer('The largest daily budget.'),
    currency_code: text('The currency of the account.'),
  },
  bulk_rejected: {
    errors: {
      type: 'array',
      description: 'What is wrong with which item.',
      items: {
        type: 'object',
        properties: {
          email: text('The member.'),
          error_code: text('As the operation for one member would answer.'),
          message: text('What is wrong, for people.'),
        },
      },
    },
  },
  business_name_too_long: { limit: integer('The most characters; wide ones count twice.') },
  currency_unsupported: { supported: texts('The currencies that can be used.') },
  field_rule_denied: fields,
  geo_target_unknown: { values: texts('The targets that are not known.') },
  launch_in_progress: aboutCampaign,
  limit_reached: {
    limit: integer('The most that there may be.'),
    resource: text('What there is too much of.'),
  },
  payload_too_large: limitBytes,
  platform_rejected: {
    platform_reasons: {
      type: 'array',
      description: 'What the ad platform says.',
      items: {
        type: 'object',
        properties: {
          code: text('In the words of the platform.'),
          message: text('For people.'),
          minimum_daily_budget_micros: integer('What the platform asks for at least.'),
        },
      },
    },
    account_created: { type: 'boolean', description: 'Whether the app has an advertising account now.' },
  },
  plan_required: { required_plan: text('The cheapest plan that includes the feature.') },
  rate_limited: {
    limit: integer('How many requests, or bytes, the window allows.'),
    window_seconds: integer('The length of the window.'),
    retry_after: integer('After how many seconds to try again.'),
  },
  reply_timeout: { conversation_id: text('The conversation in which the reply will appear.') },
  revision_conflict: revision,
  role_required: { required_role: text('The least role that is allowed to do this.') },
  rule_too_expensive: {
    entity_name: text('The entity whose rule takes too many steps.'),
    operation: text('The operation of the rule.'),
  },
  schema_in_use: { entity_names: texts('The entities that are in use.') },
  storage_quota_exceeded: {
    quota_bytes: integer("The workspace's quota."),
    used_bytes: integer('What the workspace stores now.'),
  },
  tracking_not_verified: aboutCampaign,
  unique_conflict: fields,
  workspace_billing_hold: aboutCampaign,
  workspace_key_scope_missing: { scope: text('The scope that the key lacks.') },
};

export const problemSchema: JsonSchema = {
  type: 'object',
  description: 'Every error except 422 (RFC 9457).',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string', description: 'A URN with the code.' },
    title: { type: 'string', description: 'The code in words.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: { type: 'string', description: 'What happened and what to do next, for people.' },
    code: { type: 'string', description: 'Stable, for programs. The codes are listed at each status.' },
    request_id: { type: 'string', description: 'Also in the header `X-Request-Id` and in the logs.' },
    retry_safe: { type: 'boolean', description: 'Whether the same request can be repeated without a second effect.' },
  },
};

export const validationSchema: JsonSchema = {
  type: 'object',
  description: 'The request is not valid; nothing was changed.',
  required: ['detail'],
  properties: {
    detail: {
      type: 'array',
      description: 'At most 100 faults.',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: {
            type: 'array',
            items: { type: ['string', 'integer'] },
            description: 'Where: `body` or `query`, then the names and indexes that lead to the value.',
          },
          msg: { type: 'string', description: 'What is wrong, for people.' },
          type: { type: 'string', description: 'What is wrong, for programs.' },
        },
      },
    },
  },
};
