// What commands print. On a terminal: tables and sentences. Otherwise, or with --json: one JSON document, or one per line
// for streams and exports. Notes and progress go to stderr: stdout is only what was asked for.
import { styleText } from 'node:util';
import type { Notes } from '../../sdk/src/index.ts';
import { CommandError } from './exit.ts';

export interface OutputSettings {
  readonly json?: boolean;
  readonly jq?: string;
}

export interface Progress {
  /** Sets how much is done, of the total if it is known. */
  set(done: number | string): void;
  end(): void;
}

export interface Output {
  /** Whether people read stdout: then the second argument of `show` and `line` decides what is printed. */
  readonly isForPeople: boolean;
  /** Prints one document. */
  show(data: unknown, describe?: () => string): Promise<void>;
  /** Prints one item of a stream or an export. */
  line(item: unknown, describe?: () => string): Promise<void>;
  /** Prints bytes or text as they are. */
  raw(content: Uint8Array | string): void;
  /** Says something to people, on stderr. */
  say(text: string): void;
  /** Reports what an answer says besides its data. */
  note(notes: Notes, operation: string): void;
  /** Whether an answer was partial. */
  readonly wasPartial: boolean;
  /** A bar on stderr, if it takes longer than two seconds. */
  progress(label: string, total?: number): Progress;
  /** Shows on stderr that something is waited for, if it takes longer than two seconds. */
  during<Result>(label: string, work: PromiseLike<Result>): Promise<Result>;
}

type Style = Parameters<typeof styleText>[0];

/** Colours text for people: never with NO_COLOR, nor where it is not a terminal. */
export const colour = (style: Style, text: string): string =>
  styleText(style, text, { stream: process.stdout, validateStream: true });

export function createOutput(settings: () => OutputSettings): Output {
  let wasPartial = false;
  const said = new Set<string>();
  const say = (text: string) => {
    process.stderr.write(`${text}\n`);
  };
  const progress = (label: string, total?: number): Progress =>
    process.stderr.isTTY ? drawProgress(label, total) : { set() {}, end() {} };
  const isForPeople = () => process.stdout.isTTY === true && !settings().json && settings().jq === undefined;
  const print = async (data: unknown, describe: () => string) => {
    const { jq } = settings();
    if (jq !== undefined) process.stdout.write(await filter(data, jq));
    else if (isForPeople()) process.stdout.write(`${describe()}\n`);
    else process.stdout.write(`${JSON.stringify(data ?? null)}\n`);
  };
  return {
    get isForPeople() {
      return isForPeople();
    },
    show: (data, describe = () => JSON.stringify(data, null, 2)) => print(data, describe),
    line: (item, describe = () => JSON.stringify(item)) => print(item, describe),
    raw(content) {
      process.stdout.write(content);
    },
    say,
    note(notes, operation) {
      wasPartial ||= notes.partial.length > 0;
      for (const text of describeNotes(notes, operation)) {
        if (said.has(text)) continue;
        said.add(text);
        say(text);
      }
    },
    get wasPartial() {
      return wasPartial;
    },
    progress,
    async during(label, work) {
      const [bar, startedAt] = [progress(label), Date.now()];
      const timer = setInterval(() => bar.set(`${Math.round((Date.now() - startedAt) / 1000)} s`), 250);
      try {
        return await work;
      } finally {
        clearInterval(timer);
        bar.end();
      }
    },
  };
}

const describeNotes = ({ partial, ignored, warnings, truncated }: Notes, operation: string): string[] => [
  ...partial.map((part) => `${operation}: ${part} could not be read`),
  // Of many records, the field is what matters, and not in which of them it was.
  ...ignored.map((field) => `${operation}: ${field.replace(/^\d+\./, '')} had no effect`),
  ...warnings.map((warning) => `${operation}: ${describeWarning(warning)}`),
  ...(truncated ? [`${operation}: the list was cut at its maximum`] : []),
];

/** A code of `X-Warning`, and for rules what it means: they decide who sees data. */
function describeWarning(warning: string): string {
  const [code, operations = ''] = warning.split(':');
  const listed = operations.replaceAll('+', ', ');
  if (code === 'rule_missing') return `closed to users of the app, because there is no rule: ${listed} (rule_missing)`;
  if (code === 'rule_open') return `open to everybody, because the rule is true: ${listed} (rule_open)`;
  return `warning ${warning}`;
}

/** jq itself, in the version of the server. It is loaded only here. Texts are printed without quotes, one per line. */
async function filter(data: unknown, program: string): Promise<string> {
  const { raw } = await import('jq-wasm');
  const { stdout, stderr, exitCode } = await raw(JSON.stringify(data ?? null), program, ['-c', '-r']);
  if (exitCode !== 0) throw new CommandError(stderr.trim() || `jq ended with ${exitCode}.`, 'jq_failed');
  return stdout === '' || stdout.endsWith('\n') ? stdout : `${stdout}\n`;
}

const progressAfterMs = 2000;

function drawProgress(label: string, total: number | undefined): Progress {
  const startedAt = Date.now();
  let isDrawn = false;
  return {
    set(done) {
      if (Date.now() - startedAt < progressAfterMs) return;
      isDrawn = true;
      const width = 24;
      const filled = total ? Math.min(width, Math.floor((Number(done) / total) * width)) : 0;
      const bar = total ? ` [${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${done} of ${total}` : ` ${done}`;
      process.stderr.write(`\r\x1b[K${label}${bar}`);
    },
    end() {
      if (isDrawn) process.stderr.write('\r\x1b[K');
    },
  };
}

type Row = Readonly<Record<string, unknown>>;

/** Rows as columns of text. A column is the name of a field, or a title and what it shows. */
export function table<Item extends object>(
  items: readonly Item[],
  columns: readonly (readonly [title: string, show: (item: Item) => unknown])[],
  whenEmpty = 'Nothing found.',
): string {
  if (items.length === 0) return whenEmpty;
  const rows = items.map((item) => columns.map(([, show]) => toCell(show(item))));
  const widths = columns.map(([title], column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const write = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [colour('bold', write(columns.map(([title]) => title.toUpperCase()))), ...rows.map(write)].join('\n');
}

/** Facts as `name  value`, one per line. */
export function facts(values: Row): string {
  const shown = Object.entries(values).filter(([, value]) => value !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${colour('dim', name.padEnd(width))}  ${toCell(value)}`).join('\n');
}

/** What others wrote may contain control characters, with which it could change what a terminal shows. */
const toCell = (value: unknown): string =>
  value === undefined || value === null
    ? '-'
    : // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed.
      (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');

/** What an agent or a repository wrote, in lines: without the control characters that could change what a terminal shows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed.
export const clean = (text: string): string => text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g, ' ');

/** Breaks lines between words, at the width of the terminal. */
export function wrap(text: string, width = Math.min(process.stdout.columns || 80, 100)): string {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = '';
    for (const word of paragraph.split(' ')) {
      if (line !== '' && line.length + 1 + word.length > width) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines.join('\n');
}
