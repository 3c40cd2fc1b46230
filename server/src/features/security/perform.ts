// Runs a scan: reading the app, running all groups on it, and recording the findings.

import { auditService } from '../../core/audit/audit.ts';
import type { AppReach, ServiceAccess } from '../../core/auth/proofs.ts';
import { findAccessAsService } from '../../core/auth/proofs-without-guard.ts';
import { readFeatures } from '../../core/identity/features.ts';
import { newId } from '../../kit/ids.ts';
import { toStorableText } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import { carryOver } from './carry-over.ts';
import type { HeaderRecommendation } from './contract.ts';
import { renderCoverage } from './coverage.ts';
import { choosePackageFiles } from './dependencies/files.ts';
import type { Coverage, GroupResult, ScanFile, SkipReason } from './finding.ts';
import { type CoverageOfGroups, findingGroups, type GroupFindings, type StoredGroups } from './groups.ts';
import { hashInput, type InputDeps, isPublished, type ListedFile, readTextFiles, type ScannedSchema } from './input.ts';
import { forgetOldNumbers, type RememberedNumber } from './numbers.ts';
import { comparedAt, cut, listTruncated, readGroups, storeGroups } from './result.ts';
import { scannerVersion } from './scan.ts';
import {
  findNumbers,
  findResult,
  insertIgnore,
  listIgnores,
  lockFindings,
  type NewResult,
  renameIgnore,
  type ScanRow,
  saveAbsence,
  saveResult,
  saveScanState,
  toAppKey,
} from './store.ts';

export interface CodeFindings {
  readonly secrets: GroupResult<object>;
  readonly functions: GroupResult<object>;
  readonly staticCode: GroupResult<object>;
  readonly integrations: NewResult['integrations'];
}

/** Each scanner examines one part of an app. None of them throws because of the app's content. */
export interface Scanners {
  scanRowRules(db: Db, access: AppReach, schemas: readonly ScannedSchema[], now: Date): Promise<GroupResult<object>>;
  scanCode(
    files: AsyncIterable<ScanFile>,
    options: { staticCode: boolean; secretKey: Uint8Array },
    signal: AbortSignal,
  ): Promise<CodeFindings>;
  /**
   * `isWhole` returns whether all files were provided. `packages` is compared with new advisories later, and is null if
   * there is nothing to compare.
   */
  scanDependencies(
    files: AsyncIterable<ScanFile>,
    isWhole: () => boolean,
    signal: AbortSignal,
  ): Promise<{ readonly found: GroupResult<object>; readonly packages: unknown }>;
  scanHeaders(
    access: ServiceAccess,
    signal: AbortSignal,
  ): Promise<{ readonly coverage: Coverage; readonly items: readonly HeaderRecommendation[] }>;
}

export interface PerformDeps extends InputDeps {
  readonly scanners: Scanners;
}

/** A scan's findings, before they are compared with the previous result. */
export interface ScanFindings {
  readonly access: ServiceAccess;
  readonly inputHash: string | null;
  readonly groups: GroupFindings;
  readonly headers: { readonly coverage: Coverage; readonly items: readonly HeaderRecommendation[] };
  readonly integrations: NewResult['integrations'];
  readonly packages: unknown;
}

const maxReads = 3;
/** A scan that has taken longer than this is not restarted, because its total time is limited. */
const beginAgainWithinMs = 2 * 60_000;

/**
 * Reads the app again if it changes during the scan, so the result describes a single revision. If the app keeps
 * changing, it is read three times, or only once if it is large, and the result matches no revision. Returns
 * `undefined` if the app was deleted.
 */
export async function scanApp(
  db: Db,
  deps: PerformDeps,
  scan: ScanRow,
  now: Date,
  signal: AbortSignal,
): Promise<ScanFindings | undefined> {
  const startedAt = performance.now();
  for (let reads = 1; ; reads += 1) {
    signal.throwIfAborted();
    const access = await findAccessAsService(db, scan);
    if (access === undefined) return undefined;
    const { hash } = await hashInput(db, deps, access);
    const found = await runGroups(db, deps, access, scan, now, signal);
    const later = await findAccessAsService(db, scan);
    if (later === undefined) return undefined;
    const isSame = later.app.revision === access.app.revision && isPublished(later) === isPublished(access);
    const isLast = reads === maxReads || performance.now() - startedAt > beginAgainWithinMs;
    if (isSame || isLast) return { access, inputHash: isSame ? hash : null, ...found };
  }
}

async function runGroups(
  db: Db,
  deps: PerformDeps,
  access: ServiceAccess,
  scan: ScanRow,
  now: Date,
  signal: AbortSignal,
): Promise<Omit<ScanFindings, 'access' | 'inputHash'>> {
  const schemas = await deps.schemas.list(db, access);
  const rls = schemas.length === 0 ? skip('no_schemas') : await deps.scanners.scanRowRules(db, access, schemas, now);
  const listed = await deps.files.list(db, access);
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  try {
    const [code, dependencies, headers] = await Promise.all([
      scanFiles(db, deps, access, scan, listed, either),
      scanPackages(db, deps, access, listed, either),
      isPublished(access)
        ? deps.scanners.scanHeaders(access, either)
        : { coverage: { value: 'skipped', reason: 'not_published' } as const, items: [] },
    ]);
    const { secrets, functions, staticCode, integrations } = code;
    return {
      groups: { rls, secrets, functions, dependencies: dependencies.found, static: staticCode },
      headers,
      integrations,
      packages: dependencies.packages,
    };
  } finally {
    failed.abort(); // stops the other scanners if one has failed
  }
}

const skip = (reason: SkipReason): GroupResult<object> => ({ coverage: { value: 'skipped', reason }, findings: [] });
const off: GroupResult<object> = { coverage: { value: 'off' }, findings: [] };

async function scanFiles(
  db: Db,
  deps: PerformDeps,
  access: ServiceAccess,
  { secret_key: secretKey }: ScanRow,
  listed: readonly ListedFile[],
  signal: AbortSignal,
): Promise<CodeFindings> {
  const { static_code_enabled: staticCode } = await deps.readSecuritySettings(db, access);
  const hidden = staticCode ? {} : { staticCode: off };
  if (listed.length === 0) {
    const none = skip('no_files');
    return { secrets: none, functions: none, staticCode: none, integrations: 'unknown', ...hidden };
  }
  let isUnread = false;
  const files = readTextFiles(db, deps, access, listed, () => {
    isUnread = true;
  });
  const found = await deps.scanners.scanCode(files, { staticCode, secretKey }, signal);
  const { secrets, functions } = found;
  if (!isUnread) return { ...found, ...hidden };
  const parts = { secrets: inPart(secrets), functions: inPart(functions), staticCode: inPart(found.staticCode) };
  return { ...found, ...parts, ...hidden };
}

/** Marks a group as partial, because a file that should be text could not be read. */
const inPart = (group: GroupResult<object>): GroupResult<object> =>
  group.coverage.value === 'ran' ? { ...group, coverage: { value: 'partial', reason: 'too_large' } } : group;

async function scanPackages(
  db: Db,
  deps: PerformDeps,
  access: ServiceAccess,
  listed: readonly ListedFile[],
  signal: AbortSignal,
) {
  const { dependency_scan } = await readFeatures(db, access);
  if (!dependency_scan) return { found: skip('rollout'), packages: null };
  const chosen = choosePackageFiles(listed);
  if (chosen.files.length === 0) return { found: skip('no_lockfile'), packages: null };
  let { isWhole } = chosen;
  const files = readTextFiles(db, deps, access, chosen.files, () => {
    isWhole = false;
  });
  return deps.scanners.scanDependencies(files, () => isWhole, signal);
}

// ---- recording

/** Replaces the whole result. Runs in the transaction that completes the scan. */
export async function recordScan(db: Db, scan: ScanRow, findings: ScanFindings, now: Date): Promise<void> {
  const app = toAppKey(findings.access);
  await lockFindings(db, app);
  // The numbers have the form that is written below.
  const remembered = ((await findNumbers(db, app))?.numbers ?? []) as unknown as RememberedNumber[];
  const before = await findResult(db, app);
  const { groups, numbers } = storeGroups(findings.groups, remembered, now);
  const coverage = listCoverage(findings);
  await saveResult(db, app, {
    scan_id: newId(),
    scanner_version: scannerVersion,
    language: scan.language,
    scanned_at: now,
    input_hash: findings.inputHash,
    revision: findings.access.app.revision,
    is_published: isPublished(findings.access),
    coverage: JSON.stringify(coverage),
    ...toColumns(groups),
    headers: toStorableJson(findings.headers.items),
    truncated_groups: listTruncated(groups),
    integrations: findings.integrations,
    numbers: toStorableJson(forgetOldNumbers(numbers, now)),
    packages: findings.packages === null ? null : toStorableJson(findings.packages),
    advisories_read_at: comparedAt(coverage.dependencies, now),
  });
  await carryIgnoresOver(db, { found: findings, groups, coverage, before: before && readGroups(before) }, now);
  await saveScanState(db, scan, 'ended');
  await auditService(db, app.workspace_id, describeEnd(app.app_id, groups, coverage), now);
}

const listCoverage = ({ groups, headers }: ScanFindings): CoverageOfGroups => ({
  rls: groups.rls.coverage,
  secrets: groups.secrets.coverage,
  functions: groups.functions.coverage,
  dependencies: groups.dependencies.coverage,
  static: groups.static.coverage,
  headers: headers.coverage,
});

const toColumns = (groups: StoredGroups) => ({
  rls: toStorableJson(cut(groups.rls)),
  secrets: toStorableJson(cut(groups.secrets)),
  functions: toStorableJson(cut(groups.functions)),
  dependencies: toStorableJson(cut(groups.dependencies)),
  static_code: toStorableJson(cut(groups.static)),
});

/** Removes NUL characters, which PostgreSQL can't store. */
export const toStorableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part) => (typeof part === 'string' ? toStorableText(part) : part));

async function carryIgnoresOver(
  db: Db,
  {
    found: { access },
    groups,
    coverage,
    before,
  }: {
    readonly found: ScanFindings;
    readonly groups: StoredGroups;
    readonly coverage: CoverageOfGroups;
    readonly before: StoredGroups | undefined;
  },
  now: Date,
): Promise<void> {
  const app = toAppKey(access);
  const { renamed, added, found, absent } = carryOver(await listIgnores(db, app), groups, coverage, before);
  for (const { from, to } of renamed) await renameIgnore(db, app, from, to);
  for (const { like, fingerprint, covered } of added) {
    const { workspace_id, app_id, covered_rules, ...rest } = like;
    await insertIgnore(db, app, {
      ...rest,
      fingerprint,
      covered_rules: JSON.stringify(covered),
      absent_since: null,
      created_date: now,
    });
  }
  await saveAbsence(db, app, { found, absent }, now);
}

const describeEnd = (appId: string, groups: StoredGroups, coverage: CoverageOfGroups) => ({
  type: 'scan.finished' as const,
  target: { kind: 'app', id: appId },
  app_id: appId,
  after: {
    outcome: 'finished',
    findings: Object.fromEntries(findingGroups.map((group) => [group, groups[group].length])),
    coverage: renderCoverage(coverage),
    scanner_version: scannerVersion,
  },
});
