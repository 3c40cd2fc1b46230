// The text that a session publishes on the git host: its commit message and its pull request description. A
// hostile repository may influence the model's text, so the text is made inert: it loads no images, notifies no one and
// closes no issues.
import { makeHarmless } from '../../../kit/harmless.ts';
import type { SessionRow } from '../store/sessions.ts';

// ---- pull request

/** Identifies the session's pull request. */
export const toMarker = ({ id }: Pick<SessionRow, 'id'>): string => `<!-- plinth-session: ${id} -->`;

export const toBody = (session: SessionRow, summary: string): string =>
  [
    describeRunFiles(session.run_files),
    toSafeMarkdown(summary),
    session.pull_request_body?.trim() ?? '', // the user's own text
    toMarker(session),
  ]
    .filter((part) => part !== '')
    .join('\n\n');

const maxNames = 20;
const maxNameCharacters = 150;

function describeRunFiles(paths: readonly string[]): string {
  if (paths.length === 0) return '';
  const shown = paths.slice(0, maxNames).map(toCode);
  const more = paths.length > maxNames ? ` and ${paths.length - maxNames} more` : '';
  return `**Review these first:** this pull request changes files that run in CI, during installation or during a build: ${shown.join(', ')}${more}.`;
}

/** A single-line code span, whatever the text contains. */
function toCode(text: string): string {
  const line = makeHarmless(text).replace(/\s+/g, ' ').slice(0, maxNameCharacters).toWellFormed();
  const ticks = '`'.repeat(longestRun(line) + 1);
  return `${ticks} ${line} ${ticks}`;
}

const longestRun = (text: string): number => Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));

// ---- Markdown

/** Git hosts accept 65,536 characters, of which the user's own text may take up to 20,000. */
const maxMarkdown = 38_000;

/**
 * Keeps headings, lists, tables, emphasis and code, and renders addresses as plain text. Everything else is shown
 * literally. Code is written in a form that all Markdown parsers recognise as code, so none of it can become active.
 */
export function toSafeMarkdown(text: string): string {
  let source = makeHarmless(text).trim();
  let markdown = renderBlocks(source);
  while (markdown.length > maxMarkdown) {
    source = source.slice(0, Math.floor(source.length * 0.8)).toWellFormed();
    markdown = `${renderBlocks(source)}\n\n…`;
  }
  return markdown;
}

/** Also matches a fence within a list item. */
const openingFence = /^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?:(`{3,})([^`]*)|(~{3,})(.*))$/;

function renderBlocks(source: string): string {
  const rendered: string[] = [];
  const lines = source.split('\n');
  // In a table, a `|` within code ends both the cell and the code.
  const hasTable = lines.some((line) => line.includes('|') && line.includes('-') && /^[ \t>|:-]+$/.test(line));
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] as string;
    const [, start = '', ticks, info, tildes, otherInfo] = openingFence.exec(line) ?? [];
    const fence = ticks ?? tildes;
    if (fence === undefined) {
      rendered.push(renderLine(line, hasTable));
      continue;
    }
    const closing = new RegExp(`^[ \\t]*${fence[0]}{${fence.length},}[ \\t]*$`);
    const end = lines.findIndex((each, at) => at > index && closing.test(each));
    const last = end === -1 ? lines.length : end;
    if (start.trim() !== '') rendered.push(`\n${start.trim()}`);
    rendered.push(renderCode(lines.slice(index + 1, last), info ?? otherInfo ?? '', start.length));
    index = last;
  }
  return rendered.join('\n');
}

/** The fence starts a line and follows an empty line, so no preceding block can contain it. */
function renderCode(lines: readonly string[], info: string, indentation: number): string {
  const content = lines.map((line) => line.slice(Math.min(indentation, line.search(/\S|$/)))).join('\n');
  const fence = '`'.repeat(Math.max(3, longestRun(content) + 1));
  return `\n${fence}${toLanguage(info.trim())}\n${content}\n${fence}\n`;
}

/** Some hosts render these languages as diagrams or previews, which may contain links and images. */
const drawn = ['mermaid', 'geojson', 'topojson', 'stl', 'math', 'suggestion'];
const toLanguage = (info: string): string =>
  /^[A-Za-z0-9+#-]{1,20}$/.test(info) && !drawn.includes(info.toLowerCase()) ? info : '';

const zeroWidth = '&#8203;';

function renderLine(line: string, hasTable: boolean): string {
  const [, start = '', rest = ''] = /^( {0,3}#{1,6}(?=[ \t]|$))?(.*)$/.exec(line) ?? [];
  let rendered = start;
  let at = 0;
  for (const { from, to } of findCodeSpans(rest)) {
    const code = rest.slice(from, to);
    if (hasTable && code.includes('|')) continue;
    rendered += renderText(rest.slice(at, from)) + code;
    at = to;
  }
  return rendered + renderText(rest.slice(at));
}

/** Within a line, a code span extends from a run of backticks to the next run of the same length, as in CommonMark. */
function findCodeSpans(line: string): { from: number; to: number }[] {
  const spans: { from: number; to: number }[] = [];
  const runs = [...line.matchAll(/\\[^`]|\\?`+/g)].flatMap(({ 0: text, index }) => {
    if (!text.includes('`')) return [];
    // Outside code, a backslash escapes only the first backtick.
    return [{ index: text.startsWith('\\') ? index + 2 : index, end: index + text.length }];
  });
  for (let first = 0; first < runs.length; first += 1) {
    const { index, end } = runs[first] as (typeof runs)[number];
    const length = end - index;
    if (length === 0) continue;
    // Within code, backslashes have no meaning, so all of the run's backticks count.
    const last = runs.findIndex((run, at) => at > first && run.end - startOfRun(line, run.end) === length);
    if (last === -1) continue;
    spans.push({ from: index, to: (runs[last] as (typeof runs)[number]).end });
    first = last;
  }
  return spans;
}

function startOfRun(line: string, end: number): number {
  let start = end;
  while (line[start - 1] === '`') start -= 1;
  return start;
}

const renderText = (text: string): string =>
  text
    // Removes the backslash before characters that are escaped below.
    .replace(/\\([\s\S]?)/g, (pair, character: string) => ('@#&:/.-<>[]`~'.includes(character) ? character : pair))
    .split(/((?:https?:\/\/|www\.)[^\s<>[\]`\\&]+)/i)
    .map((part, index) => (index % 2 === 1 ? renderAddress(part) : renderWords(part)))
    .join('');

const renderWords = (text: string): string =>
  text
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/[[\]`~]/g, '\\$&')
    .replace(/[@#]|\bGH-(?=\d)/gi, `$&${zeroWidth}`);

/** Git hosts treat an issue's address as a reference to the issue. */
function renderAddress(address: string): string {
  const isReference = /\/(issues|pull|pulls|discussions|commit|merge_requests)\//i.test(address);
  return (isReference ? address.replace(/https?:\/\/|www\./gi, '') : address)
    .replaceAll('@', '%40')
    .replace(/#(?=\d)/g, '%23')
    .replace(/~/g, '%7E')
    .replace(/\bGH-(?=\d)/gi, 'GH%2D');
}

// ---- commit

const maxLine = 500;

/** The body is the first line of the summary. The pull request contains the whole summary. */
export function toCommitMessage({ commit_message, title }: SessionRow, summary: string): string {
  if (commit_message !== null) return commit_message;
  const [line = ''] = makeHarmless(summary).trim().split('\n', 1);
  const said = toPlainLine([...line].slice(0, maxLine).join(''));
  return said === '' ? title : `${title}\n\n${said}`;
}

/** Hosts also interpret references, `[skip ci]` and `Co-authored-by:` in commits, where they can't be escaped. */
const toPlainLine = (line: string): string =>
  line
    .replace(/https?:\/\/|www\./gi, '')
    .replace(/[@#](?=\S)|\bGH-(?=\d)/gi, '$& ')
    .replace(/\[/g, '(')
    .replace(/\]/g, ')')
    .replace(/^([\w-]+)[ \t]*:/, '$1 –')
    .trim();
