// Reads and starts scans. The status is computed on each read by comparing the result with the current app.
import { randomBytes } from 'node:crypto';
import { audit } from '../../core/audit/audit.ts';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { readFeatures } from '../../core/identity/features.ts';
import type { WakeUps } from '../../kit/background/workers/wake.ts';
import { afterCommit, transaction } from '../../kit/db/database.ts';
import { Answer, type Notes, withNotes } from '../../kit/http/answer.ts';
import { Problem } from '../../kit/problem.ts';
import type { Db } from '../../tables.ts';
import type { Language, ScanStatus, SecurityScan } from './contract.ts';
import { renderCoverage } from './coverage.ts';
import { hashInput, type InputDeps, isPublished } from './input.ts';
import { type PresentedResult, presentResult } from './result.ts';
import { renderSarif, sarifType } from './sarif.ts';
import {
  findResult,
  findScan,
  listIgnoredFingerprints,
  type ReadResult,
  type ScanRow,
  startScan,
  toAppKey,
} from './store.ts';

/** Incremented with every change to the rules. Results from other versions are not shown. */
export const scannerVersion = 2;

/** The queue table for scans, and its wake-up topic. */
export const scanQueue = 'security_scans';

export interface ScanDeps extends InputDeps {
  readonly wake: Pick<WakeUps, 'notify'>;
}

export async function getSecurityScan(
  db: Db,
  deps: InputDeps,
  access: AppAccess,
  accept: unknown,
): Promise<Answer<SecurityScan>> {
  const { scan, presented, notes } = await readScan(db, deps, access);
  if (!String(accept ?? '').includes(sarifType)) return withNotes(scan, notes);
  const log = renderSarif(presented, scan, scannerVersion);
  // The log is sent verbatim, although the declared response is a SecurityScan.
  return new Answer(JSON.stringify(log) as never, notes, 200, sarifType);
}

/** Starts a scan, unless one is already waiting or running. */
export async function runSecurityScan(
  db: Db,
  deps: ScanDeps,
  access: AppAccess,
  language: Language,
  now: Date,
): Promise<Answer<SecurityScan>> {
  if ((await hashInput(db, deps, access)).isEmpty) throw nothingToScan();
  return transaction(db, async (db) => {
    const isStarted = await startScan(db, toAppKey(access), { language, secret_key: randomBytes(32) }, now);
    if (isStarted) {
      const target = { kind: 'app', id: access.app.id };
      const after = { revision: access.app.revision, language, scanner_version: scannerVersion };
      await audit(db, access, { type: 'scan.started', target, app_id: access.app.id, after }, now);
      afterCommit(db, () => deps.wake.notify(scanQueue));
    }
    const { scan, notes } = await readScan(db, deps, access);
    return withNotes(scan, isStarted ? notes : { ...notes, changed: false });
  });
}

const nothingToScan = () =>
  new Problem('conflict', 'scan_not_available', 'The app has no files or entities yet. Build something, then scan it.');

interface ReadScan {
  readonly scan: SecurityScan;
  readonly presented: PresentedResult | undefined;
  readonly notes: Notes;
}

async function readScan(db: Db, deps: InputDeps, access: AppAccess): Promise<ReadScan> {
  const app = toAppKey(access);
  const [row, result] = [await findScan(db, app), await findResult(db, app)];
  const { static_code_enabled } = await deps.readSecuritySettings(db, access);
  const { dependency_scan } = await readFeatures(db, access);
  const shown = result?.scanner_version === scannerVersion ? result : undefined;
  const presented =
    shown && presentResult(shown, { isStaticOn: static_code_enabled, hasDependencies: dependency_scan });
  return {
    scan: {
      status: await computeStatus(db, deps, access, row, shown),
      result: presented?.result ?? null,
      static_code_enabled,
      ignored_fingerprints: await listIgnoredFingerprints(db, app),
    },
    presented,
    notes: {
      ...(presented?.isTruncated && { truncated: true as const }),
      headers: {
        'x-scanner-version': String(scannerVersion),
        ...(presented && { 'x-scan-coverage': renderCoverage(presented.coverage) }),
      },
    },
  };
}

/** `result` must come from the current scanner version. */
async function computeStatus(
  db: Db,
  deps: InputDeps,
  access: AppAccess,
  row: Pick<ScanRow, 'state'> | undefined,
  result: ReadResult | undefined,
): Promise<ScanStatus> {
  if (row === undefined) return 'none';
  if (row.state === 'failed') return 'scan_failed';
  if (row.state !== 'ended') return row.state;
  return result !== undefined && (await isCurrent(db, deps, access, result)) ? 'up_to_date' : 'out_of_date';
}

/** Every change to files, schemas or headers increments the revision, so equal revisions make hashing unnecessary. */
async function isCurrent(db: Db, deps: InputDeps, access: AppAccess, result: ReadResult): Promise<boolean> {
  if (result.input_hash === null) return false;
  const isSame = result.revision === access.app.revision && result.is_published === isPublished(access);
  return isSame || (await hashInput(db, deps, access)).hash === result.input_hash;
}
