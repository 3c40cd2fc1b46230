// Owns which files of an app are read as code, and the scripts inside HTML.

/** Longer files are not written by hand; reading them as code takes too long. */
const maxCodeLength = 1024 * 1024;
/** A longer line is data or minified code. */
const maxLineLength = 200_000;

const ending = /\.([cm]?[jt]sx?|html?|vue|svelte)$/i;
/** What is built from other files, belongs to packages, or runs only in tests. */
const excluded =
  /(^|\/)(node_modules|dist|build|coverage|vendor|\.next|__tests__|__mocks__)\/|\.min\.[cm]?js$|\.d\.[cm]?ts$|\.(test|spec|stories)\.[cm]?[jt]sx?$/i;

export const isCodePath = (path: string): boolean => ending.test(path) && !excluded.test(path);

/** Undefined if the file is too large to be read as code. */
export function codeOf(path: string, content: string): string | undefined {
  if (content.length > maxCodeLength || hasLongLine(content)) return undefined;
  return /\.(html?|vue|svelte)$/i.test(path) ? scriptsOf(content) : content.replace(/^\uFEFF/, '');
}

function hasLongLine(text: string): boolean {
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', start)) {
    if (at - start > maxLineLength) return true;
    start = at + 1;
  }
  return text.length - start > maxLineLength;
}

/** The scripts of a page, with everything else as empty lines, so that lines keep their numbers. */
function scriptsOf(html: string): string {
  const lower = html.toLowerCase();
  const parts: string[] = [];
  let at = 0;
  for (let open = lower.indexOf('<script'); open >= 0; open = lower.indexOf('<script', at)) {
    const start = lower.indexOf('>', open);
    if (start < 0) break;
    const end = lower.indexOf('</script', start);
    const stop = end < 0 ? html.length : end;
    const isData = /type\s*=\s*["']?(application\/|text\/template|importmap|speculationrules)/.test(
      lower.slice(open, start),
    );
    parts.push(
      linesOnly(html.slice(at, start + 1)),
      isData ? linesOnly(html.slice(start + 1, stop)) : html.slice(start + 1, stop),
    );
    at = stop;
  }
  return parts.join('');
}

const linesOnly = (text: string): string => text.replace(/[^\n]+/g, '');
