// What a page in a preview reports to the console: which revision it is of, and what went wrong in it.

/** What an error of a page is, and where it came from. */
export interface PageError {
  readonly message: string;
  readonly source: string;
  readonly line: number | null;
}

/** What the page in the frame has reported since it was loaded. */
export interface PageReport {
  /** The revision that the page is of. Undefined until the page has said so. */
  readonly revision: number | undefined;
  readonly errors: readonly PageError[];
}

export const nothingReported: PageReport = { revision: undefined, errors: [] };

/** More errors than this are not listed, because the first ones cause the rest. */
const maxErrors = 20;

/** Adds a message of the page to its report. What is no message of a preview changes nothing. */
export function addMessage(report: PageReport, message: unknown): PageReport {
  if (typeof message !== 'object' || message === null) return report;
  const { type, revision, message: text, source, line } = message as Readonly<Record<string, unknown>>;
  if (typeof revision !== 'number') return report;
  if (type === 'plinth.preview_loaded') return { revision, errors: [] };
  if (type !== 'plinth.preview_error' || typeof text !== 'string') return report;
  const error: PageError = {
    message: text,
    source: typeof source === 'string' ? source : '',
    line: typeof line === 'number' ? line : null,
  };
  const isKnown = report.errors.some((other) => describeError(other) === describeError(error));
  return isKnown || report.errors.length >= maxErrors ? report : { ...report, errors: [...report.errors, error] };
}

/** Example: "x is not defined, in /app.js:41". */
export function describeError({ message, source, line }: PageError): string {
  if (source === '') return message;
  return `${message}, in ${source}${line === null ? '' : `:${line}`}`;
}

/** What the assistant is asked. */
export const askToFix = (revision: number, errors: readonly PageError[]): string =>
  [
    `The preview of revision ${revision} shows an error. Please fix it.`,
    '',
    ...errors.slice(0, 5).map(describeError),
  ].join('\n');
