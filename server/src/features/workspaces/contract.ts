// Owns the schemas of workspaces, plans, credit grants and exports as a caller sees them (docs/api/workspaces.md).
import { z } from 'zod';
import { type Plan, plans } from '../../core/auth/plans.ts';
import { type WorkspaceRole, workspaceRoles } from '../../core/auth/roles.ts';
import { defaultFeatures } from '../../core/identity/features.ts';
import {
  answer,
  body,
  clearable,
  count,
  decimal,
  id,
  name,
  optional,
  pageQuery,
  pattern,
  query,
  queryFlag,
  strictBody,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';

export const Features = z.strictObject({
  dependency_scan: z.boolean(),
  static_code_default: z.boolean(),
  model_analysis: z.boolean(),
});

const fields = {
  id,
  name: z.string(),
  plan: z.enum(plans),
  role: z
    .enum(workspaceRoles)
    .nullable()
    .meta({ description: "The caller's role. Null for workspace keys and operators." }),
  monthly_limit: z.number().nullable(),
  default_member_credit_limit: z.number().nullable(),
  country_code: z.string(),
  locale: z.string(),
  features: Features,
  created_date: timestamp,
};

const Storage = answer('Storage', {
  used_bytes: count,
  quota_bytes: count.nullable().meta({ description: 'Null: unlimited.' }),
  records_bytes: count.meta({ description: 'Data of records as JSON, also of those in the trash.' }),
  files_bytes: count,
  archives_bytes: count.meta({ description: 'Archives of exports, until they expire.' }),
});

export const Workspace = answer('Workspace', fields);
export const WorkspaceWithStorage = answer('WorkspaceWithStorage', { ...fields, storage: Storage });
export const OperatorWorkspace = answer('OperatedWorkspace', {
  ...fields,
  rate_multiplier: z.number().nullable(),
  storage_quota_bytes: z.number().nullable(),
  billing_hold: z.boolean(),
  billing_hold_reason: z.string().nullable(),
  member_count: count,
  owner_email: z.string().nullable(),
});

export const countryCode = pattern(/^[A-Z]{2}$/, 2);

export const locale = pattern(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 35);

export const NewWorkspace = body({ name: name(1, 100), country_code: optional(countryCode) });
export const WorkspaceChange = body({
  name: optional(name(1, 100)),
  country_code: optional(countryCode),
  locale: optional(locale),
});

export const OperatorChange = strictBody({
  plan: optional(z.enum(plans)),
  monthly_limit: clearable(z.number().min(0)),
  rate_multiplier: clearable(z.number().min(0.1).max(1000)),
  storage_quota_bytes: clearable(z.int().min(0).max(1e15)),
  features: optional(Features.partial()),
  billing_hold: optional(z.boolean()),
  billing_hold_reason: clearable(text(0, 500)),
});
export type OperatorChange = z.output<typeof OperatorChange>;

export const PlanRow = answer('Plan', {
  plan: z.enum(plans),
  monthly_credits: z.number().nullable(),
  rate_multiplier: z.number(),
  storage_quota_bytes: z.number().nullable(),
  features: z.record(z.string(), z.boolean()),
});

export const CreditGrant = strictBody({
  amount: decimal(4)
    .min(-1e9)
    .max(1e9)
    .refine((amount) => amount !== 0, { error: 'must not be zero' }),
  note: text(1, 500),
});

export const StartedExport = answer('StartedExport', { export_id: id, state: z.literal('queued') });
export const Export = answer('Export', {
  export_id: id,
  state: z.enum(['queued', 'running', 'ready', 'failed']),
  url: z.string().nullable().meta({ description: 'URL of the archive; null unless `state` is `ready`.' }),
  expires_at: timestamp.nullable(),
  counts: z.record(z.string(), count).meta({ description: 'Number of rows by table.' }),
});
export const ExportQuery = query({ download: queryFlag.optional() });

export const WorkspaceDeletion = body({ confirm_name: text(1, 200) });
export const DeletedWorkspace = answer('DeletedWorkspace', { success: z.literal(true), purge_at: timestamp });

export const OperatorQuery = query({ ...pageQuery });

export interface WorkspaceRow {
  id: string;
  name: string;
  plan: Plan;
  monthly_limit: number | null;
  default_member_credit_limit: number | null;
  country_code: string;
  locale: string;
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
