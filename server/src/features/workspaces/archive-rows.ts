// Describes how people and workspaces are stored in an archive.
import { z } from 'zod';
import { plans } from '../../core/auth/plans.ts';
import { type ArchiveTable, newRowId, owner, time } from '../../kit/archive/columns.ts';
import { email, name, text } from '../../kit/http/shapes.ts';
import { countryCode, Features, guestInvitations, locale } from './contract.ts';

/** An archive's tables, keyed by name and described by the features. */
export type ArchiveTables = Readonly<Record<string, ArchiveTable>>;

export function describeTable(tables: ArchiveTables, name: string): ArchiveTable {
  const table = tables[name];
  if (table === undefined) throw new Error(`no feature describes the rows of ${name}`);
  return table;
}

/** The people that the workspace's rows refer to. An import finds them by e-mail address, or creates them. */
export const peopleTable = 'people';

const credits = z.number().min(0).max(1e12);

export const workspaceArchiveTables: ArchiveTables = {
  [peopleTable]: { columns: { id: newRowId, email, full_name: text(0, 200) } },
  workspaces: {
    columns: {
      id: owner,
      name: name(1, 100),
      plan: z.enum(plans),
      rate_multiplier: z.number().min(0.1).max(1000).nullable(),
      country_code: countryCode,
      locale,
      created_date: time,
      updated_date: time,
      monthly_limit: credits.nullable(),
      default_member_credit_limit: credits.nullable(),
      features: Features.partial(),
      billing_hold: z.boolean(),
      billing_hold_reason: text(0, 500).nullable(),
      storage_quota_bytes: z.int().min(0).max(1e15).nullable(),
      guest_invitations: z.enum(guestInvitations).default('app_owners'), // older archives have none
    },
    atMost: { rows: 1 },
  },
};
