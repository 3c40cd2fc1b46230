// The feature switches that operators set for each workspace.
import type { Db } from '../../tables.ts';

export const defaultFeatures = { dependency_scan: true, static_code_default: false, model_analysis: true };
export type Features = typeof defaultFeatures;

/** Switches that no operator has set keep their default. */
export async function readFeatures(db: Db, access: { readonly workspace_id: string }): Promise<Features> {
  const row = await db
    .selectFrom('workspaces')
    .where('id', '=', access.workspace_id)
    .select('features')
    .executeTakeFirst();
  return { ...defaultFeatures, ...(row?.features as Partial<Features> | undefined) }; // only validated switches are stored
}
