// Creates, reads, changes and deletes agents, which are apps with instructions and a model
// (docs/api/agents.md).
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess, AppRow, WorkspaceAccess } from '../../core/auth/proofs.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { insertApp, lockApp, saveApp, trashApp } from '../../core/identity/apps.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import type { Db } from '../../tables.ts';
import { type AgentChange, type AgentSettings, type NewAgent, presentAgent } from './contract.ts';
import { findAgent, saveAgent } from './store/agents.ts';

const defaultSettings: AgentSettings = { instructions: '', model: null };

export function createAgent(db: Db, access: WorkspaceAccess, input: NewAgent, addresses: AppAddresses, now: Date) {
  const { instructions = '', model = null, description = '', ...fields } = input;
  return transaction(db, async (db) => {
    const kind = { app_type: 'user_agent', visibility: 'workspace', public_settings: 'public_with_login' } as const;
    const app = await insertApp(db, access, { ...kind, ...fields, user_description: description }, now);
    await saveAgent(db, app, { instructions, model });
    const after = { name: app.name, app_type: app.app_type, visibility: app.visibility };
    await audit(db, access, { type: 'app.created', target: toAuditTarget(app), app_id: app.id, after }, now);
    return presentAgent(app, { instructions, model }, addresses);
  });
}

export const getAgent = async (db: Db, { app }: AppAccess, addresses: AppAddresses) =>
  presentAgent(app, (await findAgent(db, app)) ?? defaultSettings, addresses);

export function changeAgent(db: Db, access: AppAccess, change: AgentChange, addresses: AppAddresses, now: Date) {
  const { app } = access;
  return transaction(db, async (db) => {
    const { description, instructions: newInstructions, model: newModel, ...fields } = change;
    const appChange = { ...fields, ...(description !== undefined && { user_description: description }) };
    // The app is locked, so a concurrent change to another field is not overwritten.
    const locked = await lockApp(db, access);
    const previous = (await findAgent(db, app)) ?? defaultSettings;
    const { instructions = previous.instructions, model = previous.model } = {
      instructions: newInstructions,
      model: newModel,
    };
    const settingsChange = Object.fromEntries(
      Object.entries({ instructions, model }).filter(([field]) => field in change),
    );
    const after = { ...appChange, ...settingsChange };
    const all: Record<string, unknown> = { ...locked, ...previous };
    const before = Object.fromEntries(Object.keys(after).map((field) => [field, all[field]]));
    if (isDeepStrictEqual(before, after))
      return unchanged(presentAgent({ ...locked, owner_email: app.owner_email }, previous, addresses));
    const row = await saveApp(db, access, { ...appChange, updated_date: now });
    await saveAgent(db, app, { instructions, model });
    await audit(db, access, { type: 'app.updated', target: toAuditTarget(app), app_id: app.id, before, after }, now);
    return presentAgent({ ...row, owner_email: app.owner_email }, { instructions, model }, addresses);
  });
}

/** Stops a deleted agent's campaigns (features/ads). */
export interface CampaignStops {
  /** Called outside the transaction, because it waits for the ad platform. */
  stopApp(db: Db, access: AppAccess, now: Date): Promise<void>;
  requireAppStopped(db: Db, access: AppAccess, now: Date): Promise<void>;
}

/** Moves the agent to the trash for 30 days, like any app. */
export async function deleteAgent(db: Db, access: AppAccess, campaigns: CampaignStops, now: Date) {
  const { app } = access;
  await campaigns.stopApp(db, access, now);
  return transaction(db, async (db) => {
    await trashApp(db, access, now);
    await campaigns.requireAppStopped(db, access, now);
    const before = { name: app.name };
    await audit(db, access, { type: 'app.deleted', target: toAuditTarget(app), app_id: app.id, before }, now);
    return { success: true } as const;
  });
}

const toAuditTarget = (app: AppRow) => ({ kind: 'app', id: app.id });
