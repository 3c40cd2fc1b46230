// The shape of errors in the document, and some codes' additional members.
import type { JsonSchema } from '../kit/http/json-schema.ts';
import { capitalize } from '../kit/text.ts';

const integer = (description: string): JsonSchema => ({ type: 'integer', description });
const text = (description: string): JsonSchema => ({ type: 'string', description });
const id = (description: string): JsonSchema => ({ type: 'string', format: 'uuid', description });
const texts = (description: string): JsonSchema => ({ type: 'array', items: { type: 'string' }, description });

const limitBytes = { limit_bytes: integer('The maximum number of bytes.') };
const revision = { revision: integer('The current revision.') };
const fields = { fields: texts('The fields that caused the error.') };
const aboutCampaign = {
  campaign_state: {
    type: 'string',
    enum: ['absent', 'paused', 'live', 'unknown', 'removed'],
    description: 'The state of the campaign; if `unknown`, it may be spending.',
  },
  campaign_id: id('The id of the campaign, if there is one.'),
  launch_id: id('The id of the launch, if there is one.'),
};

/** The additional members, keyed by code. A test compares them with every error that the tests receive. */
export const membersOfCode: Readonly<Record<string, JsonSchema>> = {
  account_billing_hold: aboutCampaign,
  ad_platform_timeout: aboutCampaign,
  already_launched: aboutCampaign,
  budget_not_multiple: { step_micros: integer('The smallest amount of the currency, in micros.') },
  budget_out_of_range: {
    min_daily_budget_micros: integer('The smallest allowed daily budget, in micros.'),
    max_daily_budget_micros: integer('The largest allowed daily budget, in micros.'),
    currency_code: text('The currency of the account.'),
  },
  bulk_rejected: {
    errors: {
      type: 'array',
      description: 'The items that were refused, each with the reason.',
      items: {
        type: 'object',
        properties: {
          email: text('The e-mail address of the member.'),
          error_code: text('The code that the operation for a single member would return.'),
          message: text('A message that says what is wrong.'),
        },
      },
    },
  },
  business_name_too_long: { limit: integer('The maximum number of characters; wide characters count twice.') },
  currency_unsupported: { supported: texts('The currencies that can be used.') },
  field_rule_denied: fields,
  geo_target_unknown: { values: texts('The targets that are unknown.') },
  launch_in_progress: aboutCampaign,
  limit_reached: {
    limit: integer('The maximum number allowed.'),
    resource: text('The resource that is limited.'),
  },
  payload_too_large: limitBytes,
  platform_rejected: {
    platform_reasons: {
      type: 'array',
      description: 'The reasons that the ad platform gave.',
      items: {
        type: 'object',
        properties: {
          code: text("The ad platform's code for the reason."),
          message: text('A message that explains the reason.'),
          minimum_daily_budget_micros: integer('The smallest daily budget that the ad platform accepts.'),
        },
      },
    },
    account_created: { type: 'boolean', description: 'Whether the app now has an advertising account.' },
  },
  plan_required: { required_plan: text('The cheapest plan that includes the feature.') },
  queue_rows_not_changeable: { instead: text('What to do instead.') },
  rate_limited: {
    limit: integer('The number of requests, or bytes, that the window allows.'),
    window_seconds: integer('The length of the window in seconds.'),
    retry_after: integer('The number of seconds to wait before you try again.'),
  },
  reply_timeout: { conversation_id: id('The id of the conversation in which the reply will appear.') },
  revision_conflict: revision,
  role_required: { required_role: text('The lowest role that may do this.') },
  rule_too_expensive: {
    entity_name: text('The entity whose rule takes too many steps.'),
    operation: text('The operation of the rule.'),
  },
  restore_opens_rules: {
    newly_open: {
      type: 'array',
      description: 'What the restored rules would let callers do that is refused now, as in `impact.newly_open`.',
      items: {
        type: 'object',
        properties: {
          entity: text('The name of the entity.'),
          operation: text('The operation of the rule.'),
        },
      },
    },
  },
  schema_in_use: { entity_names: texts('The names of the entities that are in use.') },
  spending_ceiling_reached: {
    ...aboutCampaign,
    ceiling: text('The ceiling that was reached: `app` or `workspace`.'),
    remaining_daily_micros: integer('The daily budget that is left, in micros of the currency.'),
    currency_code: text('The currency of the ceiling.'),
  },
  storage_quota_exceeded: {
    quota_bytes: integer('The storage quota of the workspace in bytes.'),
    used_bytes: integer('The number of bytes that the workspace stores now.'),
  },
  too_many_streams: {
    limit: integer('The number of streams or downloads that may be open.'),
    of: text('What has too many of them open: the credential or the workspace.'),
    retry_after: integer('The number of seconds to wait before you try again.'),
  },
  tracking_not_verified: aboutCampaign,
  unique_conflict: fields,
  workspace_billing_hold: aboutCampaign,
  workspace_key_scope_missing: { scope: text('The scope that the key lacks.') },
};

export const problemSchema: JsonSchema = {
  type: 'object',
  description: 'The body of every error except 422 (RFC 9457).',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string', description: 'A URN that contains the code.' },
    title: { type: 'string', description: 'The code in words.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    detail: { type: 'string', description: 'A message that says what happened and what to do next.' },
    code: { type: 'string', description: 'A stable code for programs; each status lists its codes.' },
    request_id: {
      type: 'string',
      description: 'The id of the request, which is also in the header `X-Request-Id` and in the logs.',
    },
    retry_safe: { type: 'boolean', description: 'Whether the same request can be repeated without a second effect.' },
  },
};

export const validationSchema: JsonSchema = {
  type: 'object',
  description: 'The request is not valid; nothing was changed.',
  required: ['detail', 'code', 'request_id'],
  properties: {
    code: { type: 'string', const: 'validation', description: 'Always `validation`.' },
    request_id: { type: 'string', description: 'The id of the request.' },
    detail: {
      type: 'array',
      description: 'The errors that were found, at most 100.',
      items: {
        type: 'object',
        required: ['loc', 'msg', 'type'],
        properties: {
          loc: {
            type: 'array',
            items: { type: ['string', 'integer'] },
            description: 'The location of the value: `body` or `query`, then the names and indexes that lead to it.',
          },
          msg: { type: 'string', description: 'A message that says what is wrong.' },
          type: { type: 'string', description: 'The type of the error, for programs.' },
        },
      },
    },
  },
};

/** Example: `revision_conflict` becomes `RevisionMembers`. Codes with the same members share a schema. */
const membersNames = new Map<JsonSchema, string>([
  [aboutCampaign, 'CampaignMembers'],
  [fields, 'FieldsMembers'],
  [revision, 'RevisionMembers'],
]);
for (const [code, members] of Object.entries(membersOfCode))
  if (!membersNames.has(members)) membersNames.set(members, `${code.split('_').map(capitalize).join('')}Members`);

/** The schemas of the additional members. They add to Problem, which is an object. All of them are optional, because some callers don't see all of them. */
export const memberSchemas: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  [...membersNames].map(([properties, name]) => [name, { properties }]),
);

/** Refers to the schema of the code's members. Undefined if the code has none. */
export function referToMembers(code: string): JsonSchema | undefined {
  const members = membersOfCode[code];
  return members && { $ref: `#/components/schemas/${membersNames.get(members)}` };
}
