// Owns the check of a turn's changes before they are saved: every changed file is parsed, pages must not load files that do
// not exist, and no file should contain a key. The result is shown to the person as it is.
import { posix } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { findKeys } from '../tools/keys.ts';
import { checkFile, listReferences } from './syntax.ts';

export interface CheckResult {
  readonly status: 'success' | 'error';
  readonly results: string;
}

const maxCheckedBytes = 2 * 1024 * 1024;
const maxLines = 100;

/** `changed` are the new texts of files by path, and `paths` are all files of the app as the turn leaves them. */
export async function checkFiles(
  changed: ReadonlyMap<string, string>,
  paths: ReadonlySet<string>,
): Promise<CheckResult> {
  const errors: string[] = [];
  const notChecked: string[] = [];
  let checkedFiles = 0;
  let remaining = maxCheckedBytes;
  for (const [path, text] of changed) {
    remaining -= Buffer.byteLength(text);
    const check =
      remaining < 0
        ? ({ outcome: 'not_checked', reason: 'the turn changed too much' } as const)
        : checkFile(path, text);
    if (check.outcome === 'checked') {
      checkedFiles += 1;
      errors.push(...check.errors.map((error) => `${path}: ${error}`));
      if (/\.html?$/i.test(path)) errors.push(...listMissingFiles(path, text, paths));
    } else if (check.reason !== null) notChecked.push(`${path} was not checked: ${check.reason}.`);
    errors.push(...findKeys(text).map(({ line, kind }) => `${path}: line ${line}: this seems to be ${kind}`));
    await setImmediate(); // parsing blocks the process, which has other turns to run
  }
  const summary = `${checkedFiles} of ${changed.size} changed files were parsed, ${errors.length} errors.`;
  const lines = [summary, ...errors, ...notChecked];
  const cut = lines.length > maxLines ? [`Cut: ${lines.length - maxLines} more lines.`] : [];
  return { status: errors.length > 0 ? 'error' : 'success', results: [...lines.slice(0, maxLines), ...cut].join('\n') };
}

const publishedFolder = 'public/';

/** Files of the app that a published page loads and that do not exist. */
function listMissingFiles(page: string, text: string, paths: ReadonlySet<string>): string[] {
  if (!page.startsWith(publishedFolder)) return [];
  return listReferences(text).flatMap(({ url, line }) => {
    const path = resolve(page, url);
    return path === undefined || paths.has(path) ? [] : [`${page}: line ${line}: the file ${path} does not exist`];
  });
}

/** The file of the app that a URL on a page means; undefined if it means something else. */
function resolve(page: string, url: string): string | undefined {
  const [path = ''] = url.trim().split(/[?#]/);
  if (path === '' || path.startsWith('//') || path.startsWith('/_plinth/') || /^[a-z][a-z0-9+.-]*:/i.test(path))
    return undefined;
  const base = path.startsWith('/') ? publishedFolder : posix.dirname(page);
  return posix.join(base, path);
}
