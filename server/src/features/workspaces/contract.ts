// The schemas of workspaces, plans, credit grants and exports as a caller sees them (docs/api/workspaces.md).
import { z } from 'zod';
import { type Plan, plans } from '../../core/auth/plans.ts';
import { type WorkspaceRole, workspaceRoles } from '../../core/auth/roles.ts';
import { defaultFeatures } from '../../core/identity/features.ts';
import {
  answer,
  body,
  clearable,
  count,
  createdDate,
  decimal,
  described,
  id,
  name,
  optional,
  pageQuery,
  parameter,
  pattern,
  query,
  queryFlag,
  strictBody,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';

export const Features = z.strictObject({
  dependency_scan: described(z.boolean(), 'Whether security scans check dependencies.'),
  static_code_default: described(
    z.boolean(),
    'Whether scans check the code of apps that have not set `static_code_enabled`.',
  ),
  model_analysis: described(z.boolean(), 'Whether a language model may analyse apps; nothing depends on it yet.'),
});

export const guestInvitations = ['app_owners', 'admins'] as const;

const guestInvitationsText = 'Who may invite guests by sharing an app; `app_owners` by default.';

const nameText = ['The name of the workspace.', 'Corner Bakery'] as const;
const countryCodeText = ['The country of the workspace as an ISO 3166-1 alpha-2 code; `US` by default.', 'GB'] as const;

const fields = {
  id: described(id, 'The id of the workspace.', '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11'),
  name: described(z.string(), ...nameText),
  plan: described(z.enum(plans), 'The plan of the workspace.'),
  role: described(
    z.enum(workspaceRoles).nullable(),
    "The caller's role in the workspace; null for workspace keys and operators.",
  ),
  monthly_limit: described(
    z.number().nullable(),
    'The credits of the workspace per month, set by the plan or by an operator; null means unlimited.',
    1000,
  ),
  default_member_credit_limit: described(
    z.number().nullable(),
    'The monthly credits of members without a limit of their own; null if there is no default.',
    50,
  ),
  country_code: described(z.string(), ...countryCodeText),
  locale: described(z.string(), 'The language of the workspace as a BCP 47 tag; `en` by default.', 'en-GB'),
  guest_invitations: described(z.enum(guestInvitations), guestInvitationsText),
  features: described(Features, 'Switches that an operator sets for the workspace.'),
  created_date: createdDate,
};

const Storage = described(
  answer('Storage', {
    used_bytes: described(count, 'The total number of bytes that the workspace stores.', 62138304),
    quota_bytes: described(count.nullable(), 'The storage quota in bytes; null means unlimited.', 20000000000),
    records_bytes: described(count, 'The bytes of record data as JSON, including records in the trash.', 31457280),
    files_bytes: described(
      count,
      'The bytes of app files, including files that are kept because they are or were published.',
      12582912,
    ),
    archives_bytes: described(count, 'The bytes of export archives that have not expired.', 4171712),
    analytics_bytes: described(
      count,
      'The bytes of analytics events of the last 60 days, and of their users.',
      8388608,
    ),
    answers_bytes: described(count, 'The bytes of answers that are stored for an `Idempotency-Key`.', 65536),
    deliveries_bytes: described(
      count,
      'The bytes of the delivery logs of webhooks, and of what they deliver.',
      1048576,
    ),
    runs_bytes: described(
      count,
      'The bytes of runs of workflows and automations, with the steps of workflows and the explanations of failed runs.',
      2097152,
    ),
    conversations_bytes: described(
      count,
      'The bytes of conversations: with agents, their memories, and with the builder chat.',
      524288,
    ),
    sessions_bytes: described(count, 'The bytes of coding sessions: their messages, steps and logs.', 262144),
    reports_bytes: described(count, 'The bytes of browser tests and security scans, and of their reports.', 131072),
    ads_bytes: described(count, 'The bytes of campaigns and their changes.', 32768),
    ledger_bytes: described(count, 'The bytes of the credit ledger and of reservations.', 65536),
    audit_bytes: described(count, 'The bytes of the audit log, whose entries are never refused.', 1048576),
    settings_bytes: described(
      count,
      'The bytes of what is set up: apps and their revisions, schemas, users, secrets, workflows, automations, webhooks, tests, folders and credentials.',
      262144,
    ),
  }),
  'The storage that the workspace uses.',
);

export const Workspace = answer('Workspace', fields);
export const WorkspaceWithStorage = answer('WorkspaceWithStorage', { ...fields, storage: Storage });
export const OperatorWorkspace = answer('OperatedWorkspace', {
  ...fields,
  rate_multiplier: described(
    z.number().nullable(),
    'The factor for rate limits that an operator set for the workspace; null means the factor of the plan.',
    null,
  ),
  storage_quota_bytes: described(
    z.number().nullable(),
    'The storage quota in bytes that an operator set for the workspace; null means the quota of the plan.',
    null,
  ),
  billing_hold: described(
    z.boolean(),
    'Whether an operator has put the workspace on billing hold, which prevents it from launching campaigns.',
  ),
  billing_hold_reason: described(
    z.string().nullable(),
    'Why the workspace is on billing hold, as an operator noted it; null if there is no note.',
    'The card on file has expired.',
  ),
  member_count: described(count, 'The number of members of the workspace.', 2),
  owner_email: described(
    z.string().nullable(),
    'The e-mail address of the owner of the workspace; null if there is none.',
    'ada@example.com',
  ),
});

export const countryCode = pattern(/^[A-Z]{2}$/, 2);

export const locale = pattern(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 35);

export const NewWorkspace = body({
  name: described(name(1, 100), ...nameText),
  country_code: described(optional(countryCode), ...countryCodeText),
});
export const WorkspaceChange = body({
  name: described(optional(name(1, 100)), ...nameText),
  country_code: described(optional(countryCode), ...countryCodeText),
  locale: described(optional(locale), 'The language of the workspace as a BCP 47 tag; `en` by default.', 'en-GB'),
  guest_invitations: described(optional(z.enum(guestInvitations)), guestInvitationsText),
});

export const OperatorChange = strictBody({
  plan: described(
    optional(z.enum(plans)),
    'The new plan, which also sets `monthly_limit` to the credits of the plan unless `monthly_limit` is sent.',
  ),
  monthly_limit: described(
    clearable(z.number().min(0)),
    'The credits of the workspace per month, effective immediately; null means unlimited. If only `plan` is sent, the credits of the plan apply.',
    1000,
  ),
  rate_multiplier: described(
    clearable(z.number().min(0.1).max(1000)),
    'The factor for the rate limits of the workspace; null means the factor of the plan.',
    5,
  ),
  storage_quota_bytes: described(
    clearable(z.int().min(0).max(1e15)),
    'The storage quota of the workspace in bytes; null means the quota of the plan.',
    20000000000,
  ),
  features: described(
    optional(Features.partial()),
    'The switches to change; those that are not sent keep their value.',
  ),
  billing_hold: described(
    optional(z.boolean()),
    'Whether an operator has put the workspace on billing hold, which prevents it from launching campaigns.',
  ),
  billing_hold_reason: described(
    clearable(text(0, 500)),
    'Why the workspace is on billing hold, as an operator noted it; null if there is no note.',
    'The card on file has expired.',
  ),
});
export type OperatorChange = z.output<typeof OperatorChange>;

export const PlanRow = answer('Plan', {
  plan: described(z.enum(plans), 'The name of the plan.'),
  monthly_credits: described(
    z.number().nullable(),
    'The credits per month that the plan includes; null means unlimited.',
    1000,
  ),
  rate_multiplier: described(z.number(), 'The factor by which the plan multiplies rate limits.', 3),
  storage_quota_bytes: described(
    z.number().nullable(),
    'The storage quota of a workspace on the plan in bytes; null means unlimited.',
    20000000000,
  ),
  features: described(
    z.record(z.string(), z.boolean()),
    'For each feature that not every plan has, whether this plan includes it.',
    { agent_webhooks: true, admin_role: false },
  ),
});

export const CreditGrant = strictBody({
  amount: described(
    decimal(4)
      .min(-1e9)
      .max(1e9)
      .refine((amount) => amount !== 0, { error: 'must not be zero' }),
    'The credits to grant for the current month, with up to 4 decimals; a negative amount takes credits back, and 0 is refused.',
    500,
  ),
  note: described(
    text(1, 500),
    'Why the credits are granted or taken back, as shown in the ledger.',
    'Compensation for the outage on 14 November',
  ),
});

export const StartedExport = answer('StartedExport', {
  export_id: described(
    id,
    'The id of the export, to read its state with `getExport`.',
    '0198c20c-e1b3-7460-b92a-4df8c5076e19',
  ),
  state: described(z.literal('queued'), 'Always `queued`; a worker then writes the archive.'),
});
export const Export = answer('Export', {
  export_id: described(
    id,
    'The id of the export, to read its state with `getExport`.',
    '0198c20c-e1b3-7460-b92a-4df8c5076e19',
  ),
  state: described(
    z.enum(['queued', 'running', 'ready', 'failed']),
    'The state of the export; `failed` after three failed attempts.',
  ),
  attempt: described(
    count,
    'The number of the attempt: 0 while the export is queued. An attempt that fails, or whose worker crashes, is followed by another one, which starts over.',
    1,
  ),
  url: described(
    z.string().nullable(),
    'The URL of the archive; null unless `state` is `ready`.',
    'https://plinth.example.com/api/workspace/export/0198c20c-e1b3-7460-b92a-4df8c5076e19?workspaceId=0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11&download=true',
  ),
  expires_at: described(
    timestamp.nullable(),
    'When the archive is removed, seven days after it was written; null until the export has finished.',
    '2026-11-22T09:30:00.000Z',
  ),
  counts: described(
    z.record(z.string(), count),
    'The number of rows in each table; while `state` is `running`, those that have been read so far.',
    { apps: 2, entity_records: 42 },
  ),
});
export const ExportQuery = query({
  download: parameter(
    queryFlag.optional(),
    'Whether to return the archive of a finished export instead of its state; false by default.',
  ),
});

export const WorkspaceDeletion = body({
  confirm_name: described(text(1, 200), 'The exact name of the workspace, to confirm the deletion.', 'Corner Bakery'),
});
export const DeletedWorkspace = answer('DeletedWorkspace', {
  success: described(z.literal(true), 'Always true.'),
  purge_at: described(
    timestamp,
    'When the workspace is deleted for good; until then an operator can restore it.',
    '2026-12-15T09:30:00.000Z',
  ),
});

export const OperatorQuery = query({ ...pageQuery });

export interface WorkspaceRow {
  id: string;
  name: string;
  plan: Plan;
  monthly_limit: number | null;
  default_member_credit_limit: number | null;
  country_code: string;
  locale: string;
  guest_invitations: (typeof guestInvitations)[number];
  features: unknown;
  created_date: Date;
}

export const presentWorkspace = (row: WorkspaceRow, role: WorkspaceRole | null): z.input<typeof Workspace> => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  role,
  monthly_limit: row.monthly_limit,
  default_member_credit_limit: row.default_member_credit_limit,
  country_code: row.country_code,
  locale: row.locale,
  guest_invitations: row.guest_invitations,
  features: { ...defaultFeatures, ...(row.features as object) },
  created_date: row.created_date.toISOString(),
});

export interface OperatorWorkspaceRow extends WorkspaceRow {
  rate_multiplier: number | null;
  storage_quota_bytes: number | null;
  billing_hold: boolean;
  billing_hold_reason: string | null;
  member_count: number;
  owner_email: string | null;
}

export const presentOperatorWorkspace = (row: OperatorWorkspaceRow): z.input<typeof OperatorWorkspace> => ({
  ...presentWorkspace(row, null),
  rate_multiplier: row.rate_multiplier,
  storage_quota_bytes: row.storage_quota_bytes,
  billing_hold: row.billing_hold,
  billing_hold_reason: row.billing_hold_reason,
  member_count: row.member_count,
  owner_email: row.owner_email,
});
