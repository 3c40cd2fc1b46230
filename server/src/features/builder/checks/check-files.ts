// Checks a turn's changes before they are saved: every changed file is parsed, pages must not load missing
// files, and no file should contain a key. The result is shown to the person unchanged.
import { setImmediate } from 'node:timers/promises';
import { findKeys } from '../../../core/turns/keys.ts';
import { parseInThread } from './parser.ts';
import type { FileCheck, PageReference } from './syntax.ts';

export interface CheckResult {
  readonly status: 'success' | 'error';
  readonly results: string;
}

// All turns share the parser thread, so a single turn must not occupy it for long.
const maxPerTurn = { bytes: 2 * 1024 * 1024, parsingMs: 10_000 };
const maxLines = 100;

/** `changed` maps paths to new contents. `paths` lists all of the app's files after the turn. */
export async function checkFiles(
  changed: ReadonlyMap<string, string>,
  paths: ReadonlySet<string>,
): Promise<CheckResult> {
  const errors: string[] = [];
  const notChecked: string[] = [];
  const checkNext = limitChecks();
  let checkedFiles = 0;
  for (const [path, text] of changed) {
    const check = await checkNext(path, text);
    if (check.outcome === 'checked') {
      checkedFiles += 1;
      errors.push(...check.errors.map((error) => `${path}: ${error}`));
      errors.push(...listMissingFiles(path, check.references, paths));
    } else if (check.reason !== null) notChecked.push(`${path} was not checked: ${check.reason}.`);
    errors.push(...findKeys(text).map(({ line, kind }) => `${path}: line ${line}: this seems to be ${kind}`));
    await setImmediate(); // searching for keys blocks the process, which also runs other turns
  }
  const summary = `${checkedFiles} of ${changed.size} changed files were parsed, ${errors.length} errors.`;
  const lines = [summary, ...errors, ...notChecked];
  const cut = lines.length > maxLines ? [`Cut: ${lines.length - maxLines} more lines.`] : [];
  return { status: errors.length > 0 ? 'error' : 'success', results: [...lines.slice(0, maxLines), ...cut].join('\n') };
}

/** Returns a function that checks one file. Once the turn has used up its share, files are no longer parsed. */
function limitChecks(): (path: string, text: string) => Promise<FileCheck> {
  const remaining = { ...maxPerTurn };
  return async (path, text) => {
    remaining.bytes -= Buffer.byteLength(text);
    if (remaining.bytes < 0) return { outcome: 'not_checked', reason: 'the turn changed too much' };
    if (remaining.parsingMs < 0) return { outcome: 'not_checked', reason: 'other files took too long to parse' };
    const { check, elapsedMs } = await parseInThread({ path, text });
    remaining.parsingMs -= elapsedMs;
    return check;
  };
}

const publishedFolder = 'public/';

/** Lists the missing files that a published page loads from the app. */
function listMissingFiles(page: string, references: readonly PageReference[], paths: ReadonlySet<string>): string[] {
  if (!page.startsWith(publishedFolder)) return [];
  return references.flatMap(({ url, line }) => {
    const path = resolve(page, url);
    return path === undefined || paths.has(path) ? [] : [`${page}: line ${line}: the file ${path} does not exist`];
  });
}

const appOrigin = 'https://app.invalid';

/** The app's file that a browser would load for a URL on a page, or `undefined` if the URL points elsewhere. */
function resolve(page: string, url: string): string | undefined {
  const pagePath = page.slice(publishedFolder.length).split('/').map(encodeURIComponent).join('/');
  const meant = URL.parse(url, `${appOrigin}/${pagePath}`);
  if (meant?.origin !== appOrigin || meant.pathname.startsWith('/_plinth/')) return undefined;
  return publishedFolder + meant.pathname.slice(1).split('/').map(decode).join('/');
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // not UTF-8, so shown unchanged
  }
}
