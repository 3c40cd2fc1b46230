// Ignores and restores findings, and dismisses header recommendations.
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { transaction } from '../../kit/db/database.ts';
import { unchanged } from '../../kit/http/answer.ts';
import { limitReached } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import { findInGroups, toCoveredRules } from './carry-over.ts';
import type { HeaderRecommendation, IgnoredFinding } from './contract.ts';
import { typeOfGroup } from './groups.ts';
import { headerFlags } from './headers/item.ts';
import { readGroups } from './result.ts';
import {
  countIgnores,
  findResult,
  insertIgnore,
  lockFindings,
  type NewIgnore,
  removeIgnore,
  saveDismissed,
  toAppKey,
} from './store.ts';

const ok = { status: 'ok' } as const;
export const maxIgnores = 5_000;

/** If the fingerprint is not in the result, ignoring it takes effect once a scan finds it. */
export function ignoreFinding(db: Db, access: AppAccess, input: IgnoredFinding, now: Date) {
  const app = toAppKey(access);
  return transaction(db, async (db) => {
    await lockFindings(db, app);
    const ignore = await describeIgnore(db, access, input, now);
    if (!(await insertIgnore(db, app, ignore))) return unchanged(ok);
    if ((await countIgnores(db, app)) > maxIgnores)
      throw limitReached(
        maxIgnores,
        'ignored_findings',
        `An app can have at most ${maxIgnores} ignored findings. Restore some first.`,
      );
    const { fingerprint, finding_type, reason } = ignore;
    await auditMark(db, access, 'scan.finding_ignored', { fingerprint, finding_type, reason }, now);
    return ok;
  });
}

async function describeIgnore(db: Db, access: AppAccess, input: IgnoredFinding, now: Date): Promise<NewIgnore> {
  const result = await findResult(db, toAppKey(access));
  const found = result && findInGroups(readGroups(result), input.fingerprint);
  const path = found?.finding.file_path;
  return {
    fingerprint: input.fingerprint,
    finding_type: found === undefined ? (input.finding_type ?? null) : typeOfGroup[found.group],
    file_path: input.file_path ?? (typeof path === 'string' ? path : null),
    title: input.title ?? found?.finding.title ?? null,
    reason: input.reason ?? null,
    secondary: found?.finding.secondary ?? null,
    covered_rules: found?.group === 'rls' ? JSON.stringify(toCoveredRules(found.finding)) : null,
    absent_since: found === undefined ? now : null,
    created_by: access.caller.email ?? 'workspace key',
    created_date: now,
  };
}

export function restoreFinding(db: Db, access: AppAccess, fingerprint: string, now: Date) {
  return transaction(db, async (db) => {
    await lockFindings(db, toAppKey(access));
    const removed = await removeIgnore(db, access, fingerprint);
    if (removed === undefined) return unchanged(ok);
    const { finding_type, reason } = removed;
    await auditMark(db, access, 'scan.finding_restored', { fingerprint, finding_type, reason }, now);
    return ok;
  });
}

/** Hides the recommendation until the next scan. */
export function dismissHeader(db: Db, access: AppAccess, flag: string, now: Date) {
  const app = toAppKey(access);
  return transaction(db, async (db) => {
    await lockFindings(db, app);
    const result = await findResult(db, app);
    const recommended = (result?.headers as unknown as readonly HeaderRecommendation[] | undefined) ?? [];
    const dismissed = result?.dismissed_headers ?? [];
    const known = headerFlags.find((each) => each === flag);
    if (known === undefined || dismissed.includes(known) || !recommended.some((item) => item.flag === known))
      return unchanged(ok);
    await saveDismissed(db, app, [...dismissed, known]);
    await auditMark(db, access, 'scan.header_dismissed', { flag: known }, now);
    return ok;
  });
}

const auditMark = (
  db: Db,
  access: AppAccess,
  type: 'scan.finding_ignored' | 'scan.finding_restored' | 'scan.header_dismissed',
  after: object,
  now: Date,
) => audit(db, access, { type, target: { kind: 'app', id: access.app.id }, app_id: access.app.id, after }, now);
