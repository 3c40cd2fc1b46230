// The prompt that installs conversion tracking: its goals, the wait for their tags, and its text.
import { setTimeout as wait } from 'node:timers/promises';
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { transaction } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { findAccount, lockRecordedGoals, saveRecordedGoals } from '../store/accounts.ts';
import type { MappingRow } from '../store/rows.ts';
import { isReady, type ReadyAccount } from '../store/rows.ts';
import { listAllMappings } from '../store/tracking.ts';
import { type ConversionType, conversionTypes } from './contract.ts';
import {
  ensureGoals,
  findGoalOf,
  findStandardGoal,
  type Goal,
  type GoalPlatform,
  goalsUncertain,
  listGoals,
  readConversionId,
} from './goals.ts';
import { writeBootstrapPrompt } from './prompt.ts';

export interface BootstrapDeps {
  readonly platform: GoalPlatform;
  /** How long to wait between polls for the published tags. */
  readonly tagPauseMs?: number | undefined;
}

/** Does not include the first read. */
const maxRepeatedReads = 4;

export async function buildBootstrapPrompt(
  db: Db,
  deps: BootstrapDeps,
  access: AppAccess,
  wiresEvents: boolean,
  now: Date,
) {
  const account = await findAccount(db, access);
  if (account === undefined || !isReady(account))
    return { composer_prompt: '', skipped_reason: 'no_ads_account' as const };
  const ensured = await ensureGoals(deps.platform, account, (existing) =>
    auditGoals(db, access, account, existing, now),
  );
  const enabled = (await listAllMappings(db, access)).filter(({ is_enabled }) => is_enabled);
  const mappings = wiresEvents ? enabled : undefined;
  const goals = await waitForTags(deps, account, ensured, mappings ?? []);
  const conversion_id = hasLabels(goals, mappings)
    ? await readConversionId(deps.platform, account, goals, goalsUncertain)
    : '';
  return {
    composer_prompt: writeBootstrapPrompt({ appId: access.app.id, conversionId: conversion_id, goals, mappings }),
    conversion_id,
    actions_created_or_existing: conversionTypes.filter((type) => findStandardGoal(goals, type) !== undefined).length,
    wired_mappings: mappings === undefined ? 0 : mappings.length || conversionTypes.length,
  };
}

/** Rereads the goals until all mappings' goals are published. */
async function waitForTags(
  { platform, tagPauseMs = 1_000 }: BootstrapDeps,
  account: ReadyAccount,
  known: readonly Goal[],
  mappings: readonly MappingRow[],
): Promise<readonly Goal[]> {
  let goals = known;
  for (let reads = 0; reads < maxRepeatedReads && !isPublished(goals, mappings); reads += 1) {
    await wait(tagPauseMs);
    goals = await listGoals(platform, account, goalsUncertain);
  }
  return goals;
}

const isPublished = (goals: readonly Goal[], mappings: readonly MappingRow[]): boolean =>
  mappings.every((mapping) => findGoalOf(goals, mapping)?.label);

/** Whether all labels in the prompt are known. Without mappings, the prompt offers all categories. */
const hasLabels = (goals: readonly Goal[], mappings: readonly MappingRow[] | undefined): boolean =>
  mappings === undefined ||
  (mappings.length > 0
    ? isPublished(goals, mappings)
    : conversionTypes.every((type) => findStandardGoal(goals, type)?.label));

/** Adds missing goals to the audit log, because an earlier call that got no response may have created them. */
const auditGoals = (db: Db, access: AppAccess, account: ReadyAccount, existing: readonly ConversionType[], now: Date) =>
  transaction(db, async (db) => {
    const recorded = await lockRecordedGoals(db, account);
    const categories = existing.filter((type) => !recorded.includes(type));
    if (categories.length === 0) return;
    await saveRecordedGoals(db, account, [...recorded, ...categories]);
    const target = { kind: 'ads_account', id: account.id };
    await audit(db, access, { type: 'ads.goals.created', target, app_id: access.app.id, after: { categories } }, now);
  });
