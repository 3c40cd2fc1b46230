// The scan for missing conversion tracking in an app's files. Only files that mention a tag are parsed, in a
// thread.
import type { AppAccess, AppReach } from '../../../core/auth/proofs.ts';
import { createFairGate } from '../../../kit/fair-gate.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import { orBusy } from '../../../kit/http/request/turn.ts';
import { createParseThread } from '../../../kit/parse-thread.ts';
import type { Db } from '../../../tables.ts';
import { findAccount } from '../store/accounts.ts';
import { isReady } from '../store/rows.ts';
import { listAllMappings } from '../store/tracking.ts';
import type { TrackingGap } from './contract.ts';
import { findGaps, landingPage, listCalls, type ScannedFiles, type Wiring } from './gaps.ts';
import { type GoalPlatform, listGoals, readConversionId } from './goals.ts';
import { tagWords } from './tag.ts';
import { isPage, isScript, type TagFile, type TagUse } from './tag-use.ts';

/** An app's site as visitors see it, or would see it if it were published now. */
export interface Site {
  /** Null if the app is not published. */
  readonly deploymentId: string | null;
  readonly files: readonly { readonly path: string; readonly size: number }[];
  read(path: string): Promise<Buffer | undefined>;
}

export interface ScanDeps<Opened extends Site = Site> {
  readonly platform: GoalPlatform;
  readonly openSite: (db: Db, access: AppReach) => Promise<Opened>;
}

export interface Scan {
  readonly gaps: readonly TrackingGap[];
  readonly callsCount: number;
  /** Files that could not be read completely: too many, too large, or not parseable. */
  readonly unread: readonly string[];
  /** Whether some files are unread only because time ran out, so another scan may be able to read them. */
  readonly isOutOfTime: boolean;
}

const maxShownGaps = 200;
const maxShownFiles = 10;

export async function scanTracking(db: Db, deps: ScanDeps, access: AppAccess) {
  const account = await findAccount(db, access);
  const mappings = await listAllMappings(db, access);
  const enabled = mappings.filter(({ is_enabled }) => is_enabled);
  const counts = { mappings_count: mappings.length, enabled_mappings_count: enabled.length };
  if (account === undefined || !isReady(account)) {
    const nothing = { is_clean: false, scanned: false, calls_count: 0, gaps: [], ...counts };
    return withNotes({ ...nothing, skipped_reason: 'no_ads_account' as const }, {});
  }
  const goals = await listGoals(deps.platform, account);
  const conversionId = await readConversionId(deps.platform, account, goals);
  const scan = await scanSite(await deps.openSite(db, access), access, { conversionId, goals, mappings: enabled });
  const isComplete = scan.unread.length === 0;
  const body = {
    is_clean: scan.gaps.length === 0 && isComplete,
    scanned: true,
    calls_count: scan.callsCount,
    gaps: scan.gaps.slice(0, maxShownGaps),
    ...counts,
  };
  return withNotes(body, {
    ...(scan.gaps.length > maxShownGaps && { truncated: true as const }),
    ...(!isComplete && { partial: ['gaps'] }),
    warnings: scan.unread.slice(0, maxShownFiles).map((path) => `file_not_scanned:${encodeURIComponent(path)}`),
  });
}

// A scan holds one file in memory at a time, and waits for the process's single parser thread.
const gate = createFairGate({ inAll: 4, perOwner: 1, maxWaitingOfOwner: 20, maxWaitMs: 20_000 });

export async function scanSite(site: Site, { workspace_id }: AppReach, wiring: Wiring): Promise<Scan> {
  const leave = await orBusy(() => gate.enter(workspace_id));
  try {
    const { isOutOfTime, ...files } = await readFiles(site);
    const { unread } = files;
    return { gaps: findGaps(files, wiring), callsCount: listCalls(files).length, unread, isOutOfTime };
  } finally {
    leave();
  }
}

/** `ms` limits the scan's own time, excluding the time spent waiting for other scans' files. */
const limits = { files: 1_000, bytes: 16 * 1024 * 1024, ms: 10_000, calls: 10_000 };
const maxParsedBytes = 2 * 1024 * 1024;
const thread = createParseThread<TagFile, TagUse>(new URL('tag-use-thread.ts', import.meta.url));

async function readFiles({ files, read }: Site): Promise<ScannedFiles & Pick<Scan, 'isOutOfTime'>> {
  const pages = files.filter(({ path }) => isPage(path));
  const scripts = files.filter(({ path }) => isScript(path));
  const [uses, unread] = [new Map<string, TagUse>(), [] as string[]];
  const left = { ...limits };
  let isOutOfTime = false;
  // The landing page comes first, because most checks depend on it.
  for (const { path, size } of [...pages.toSorted(byLanding), ...scripts]) {
    left.files -= 1;
    left.bytes -= size;
    const isBeyond = Object.values(left).some((rest) => rest < 0);
    const { use, ms, isTooSlow } = isBeyond ? { ms: 0, isTooSlow: left.ms < 0 } : await readUse(path, read);
    left.ms -= ms;
    isOutOfTime ||= isTooSlow === true;
    if (use !== 'no_tag' && !use?.isComplete) unread.push(path);
    if (use === undefined || use === 'no_tag') continue;
    uses.set(path, use);
    left.calls -= use.calls.length;
  }
  return { pages: pages.map(({ path }) => path), uses, unread, isOutOfTime };
}

const byLanding = (a: { readonly path: string }, b: { readonly path: string }): number =>
  Number(b.path === landingPage) - Number(a.path === landingPage);

interface FileReading {
  /** Undefined if the file can't be read or parsed. */
  readonly use?: TagUse | 'no_tag';
  readonly ms: number;
  readonly isTooSlow?: boolean;
}

/** The landing page is always parsed, because it names the scripts that it loads. */
async function readUse(path: string, read: Site['read']): Promise<FileReading> {
  const startedAt = performance.now();
  const content = await read(path);
  const readMs = performance.now() - startedAt;
  if (content === undefined) return { ms: readMs };
  if (path !== landingPage && !tagWords.some((word) => content.includes(word))) return { use: 'no_tag', ms: readMs };
  if (content.length > maxParsedBytes) return { ms: readMs };
  const parsed = await thread.parse({ path, text: content.toString('utf8') });
  const ms = readMs + parsed.elapsedMs;
  return parsed.outcome === 'parsed' ? { use: parsed.result, ms } : { ms, isTooSlow: parsed.outcome === 'too_long' };
}
