// Runs a guide: executes its `bash` blocks, and compares each block's output with the block that follows it. A `console`
// block is a transcript: each line that begins with `$ ` is executed in a terminal, and the lines below are what it shows.
//
// A variable that is not set fails the step, and so does a command without output to compare that exits with another status than 0.
// Output is compared word by word, except for parts that differ between two runs:
//   019a8a1c-…, plp_00Hk…, whsec_…   an id, token or secret. The same text means the same value wherever it appears, in
//                                    output and in commands. `Guide.run` copies it, as the reader would.
//   127.0.0.1:8080                   an address on this machine, treated in the same way
//   2026-11-15T10:00:00.000Z         any time
//   …                                anything. As the last member of an object or list, it matches all further members.
import { execFile } from 'node:child_process';
import { isDeepStrictEqual, promisify } from 'node:util';

export interface Step {
  /** The line in the document where the command begins. */
  readonly line: number;
  readonly command: string;
  readonly answer: { readonly language: string; readonly text: string } | undefined;
  /** Whether the command is executed in a terminal, which shows what is printed to stderr, too. */
  readonly inTerminal?: true;
}

interface Block {
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

export function readBlocks(markdown: string): Block[] {
  const fences = markdown.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm);
  return [...fences].map(({ index, 1: indent = '', 2: language = '', 3: text = '' }) => ({
    line: markdown.slice(0, index).split('\n').length + 1,
    language,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}

/** A block in one of these languages that follows a command is its answer. A diagram or a program is not. */
const answerLanguages: ReadonlySet<string> = new Set(['', 'http', 'json', 'text']);

export function readSteps(markdown: string): Step[] {
  const blocks = readBlocks(markdown);
  return blocks.flatMap((block, n) => {
    const { line, language, text } = block;
    if (language === 'console') return readTranscript(block);
    if (language !== 'bash') return [];
    const next = blocks[n + 1];
    return [{ line, command: text, answer: next && answerLanguages.has(next.language) ? next : undefined }];
  });
}

function readTranscript({ line, text }: Block): Step[] {
  const commands = text.matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm);
  return [...commands].map(({ index, 1: command = '', 2: shown = '' }) => ({
    line: line + text.slice(0, index).split('\n').length - 1,
    command,
    answer: { language: '', text: shown },
    inTerminal: true,
  }));
}

/** Read-only commands are repeated until their output matches, because workers need a moment. */
const onlyReads = (command: string): boolean => !/ (-d|-X|-T|--data\S*)\b/.test(command) && !changes.test(command);
const changes =
  /plinthctl (call (?!get|list|export)|app (create|push|publish)|members invite|webhooks replay|workspace export|login)/;
const usualPatienceMs = 45_000;

export class Guide {
  /** The values that the guide's placeholders have in this run. */
  readonly values = new Map<string, string>();
  private exports = '';
  private failedLine: number | undefined;
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Called with what programs in a terminal show, while they run: for a reader who does something meanwhile. */
  onShown: (text: string) => void = () => {};

  /** Sets a variable. The value is written as in bash, so it may use variables that were set before. */
  export(name: string, value: string): void {
    this.exports += `export ${name}=${value}\n`;
  }

  /**
   * Runs a step. Throws if its output differs from the guide. All later steps then throw as well, because they build on
   * it. With `patienceMs` 0, the guide must wait by itself, as its reader would.
   */
  async run(step: Step, patienceMs = usualPatienceMs): Promise<void> {
    if (this.failedLine !== undefined) throw new Error(`not run, because line ${this.failedLine} failed`);
    this.failedLine = step.line;
    await this.tryStep(step, patienceMs);
    this.failedLine = undefined;
  }

  private async tryStep({ line, command, answer, inTerminal }: Step, patienceMs: number): Promise<void> {
    const script = this.withValues(command);
    const deadline = Date.now() + (onlyReads(command) ? patienceMs : 0);
    for (;;) {
      const { printed, status } = await this.execute(script, inTerminal);
      const difference = answer === undefined ? this.differInStatus(status) : this.compare(answer, printed);
      if (difference === undefined) break;
      if (Date.now() > deadline) throw new Error(`line ${line}: ${difference}\n\n${script}\nprinted:\n${printed}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    if (/^((export|mkdir -p \S+ && cd) .*\s*)+$/.test(script)) this.exports += script;
  }

  /** Describes how the printed text differs from the guide's. Returns undefined if it does not. */
  compare({ language, text }: { language: string; text: string }, printed: string): string | undefined {
    const before = new Map(this.values);
    const difference =
      language === 'json'
        ? this.differInJson(text, printed)
        : language === 'http'
          ? this.differInHttp(text, printed)
          : this.differ(text.trim(), printed.trim());
    if (difference !== undefined) this.restore(before);
    return difference;
  }

  private restore(values: ReadonlyMap<string, string>): void {
    this.values.clear();
    for (const [text, value] of values) this.values.set(text, value);
  }

  private withValues(command: string): string {
    const texts = [...this.values.keys()].sort((a, b) => b.length - a.length);
    const script = texts.reduce((result, text) => result.replaceAll(text, this.values.get(text) as string), command);
    const unknown = /\S*…/.exec(script)?.[0];
    if (unknown !== undefined) throw new Error(`the guide uses ${unknown}, which no answer has shown before`);
    return script;
  }

  private async execute(script: string, inTerminal = false): Promise<{ printed: string; status: number | string }> {
    const options = { cwd: this.folder, timeout: 120_000 };
    const bash = ['bash', '--norc', '-uc', `${this.exports}${script}`];
    const [program = '', ...args] = inTerminal ? ['python3', '-c', openTerminal, ...bash] : bash;
    const running = run(program, args, options);
    if (inTerminal) running.child.stdout?.on('data', (text) => this.onShown(String(text)));
    const { stdout, stderr, code } = await running.then(
      (result) => ({ ...result, code: 0 }),
      // A program may exit with a non-zero status, as a failed verification does. Its output is compared all the same.
      ({ stdout = '', stderr = '', code, signal }: Failure) => ({ stdout, stderr, code: code ?? signal ?? 'unknown' }),
    );
    const unset = /(\w+): unbound variable/.exec(stderr)?.[1];
    if (unset !== undefined) throw new Error(`the guide uses $${unset}, which is not set`);
    const shown = stdout.replaceAll(erased, '').replaceAll('\r', '');
    return { printed: code === 0 ? shown : `${shown}${stderr}`, status: code };
  }

  private differInStatus(status: number | string): string | undefined {
    return status === 0 ? undefined : `the command ended with ${status}`;
  }

  private differInJson(expected: string, printed: string): string | undefined {
    try {
      return this.differInValue(parseAnswer(expected), JSON.parse(printed), 'the answer');
    } catch (error) {
      return `not JSON: ${String(error)}`;
    }
  }

  /** The status line and the body must match. Headers shown in the guide must be present. */
  private differInHttp(expected: string, printed: string): string | undefined {
    const [head = '', body = ''] = expected.split('\n\n');
    const [printedHead = '', printedBody = ''] = printed.replaceAll('\r', '').split('\n\n');
    const [status = '', ...headers] = head.split('\n');
    const printedLines = printedHead.split('\n');
    const missing = headers.find((header) => !printedLines.some((line) => this.differ(header, line) === undefined));
    if (missing !== undefined) return `no header: ${missing}`;
    return this.differ(status, printedLines[0] ?? '') ?? this.differInJson(body, printedBody);
  }

  private differInValue(expected: unknown, actual: unknown, at: string): string | undefined {
    if (expected === '…') return undefined;
    if (typeof expected === 'string' && typeof actual === 'string') return this.differ(expected, actual, at);
    if (Array.isArray(expected) && Array.isArray(actual)) return this.differInList(expected, actual, at);
    if (isObject(expected) && isObject(actual)) return this.differInObject(expected, actual, at);
    if (isDeepStrictEqual(expected, actual)) return undefined;
    return `${at} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`;
  }

  private differInList(expected: unknown[], actual: unknown[], at: string): string | undefined {
    const mayHaveMore = expected.at(-1) === '…';
    const shown = mayHaveMore ? expected.slice(0, -1) : expected;
    if (mayHaveMore ? actual.length < shown.length : actual.length !== shown.length)
      return `${at} has ${actual.length} items, not ${shown.length}`;
    return first(shown, (item, n) => this.differInValue(item, actual[n], `${at}[${n}]`));
  }

  private differInObject(expected: JsonObject, actual: JsonObject, at: string): string | undefined {
    const { '…': more, ...shown } = expected;
    const extra = Object.keys(actual).filter((name) => !Object.hasOwn(shown, name));
    if (more === undefined && extra.length > 0) return `${at} also has ${extra.join(', ')}`;
    return first(Object.entries(shown), ([name, value]) => this.differInValue(value, actual[name], `${at}.${name}`));
  }

  /** Compares text, and remembers the values of the guide's placeholders. */
  private differ(expected: string, actual: string, at = 'the answer'): string | undefined {
    const shown: string[] = [];
    const pattern = expected
      .split(standIn)
      .map((part, n) => {
        if (n % 2 === 0) return RegExp.escape(part);
        const known = this.values.get(part);
        if (known !== undefined) return RegExp.escape(known);
        shown.push(part);
        return `(${patternOf(part)})`;
      })
      .join('');
    const match = new RegExp(`^${pattern}$`).exec(actual);
    if (match === null) return `${at} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`;
    for (const [n, text] of shown.entries()) {
      if (text === '…' || time.test(text)) continue;
      const value = match[n + 1] as string;
      if ((this.values.get(text) ?? value) !== value) return `${at}: ${text} stands for two values`;
      this.values.set(text, value);
    }
    return undefined;
  }
}

const run = promisify(execFile);

/** Runs a program in a pseudo-terminal, without colours. */
const openTerminal = `import os, pty, sys
os.environ['NO_COLOR'] = '1'
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))`;

/** Progress, which is erased when it ends. */
const erased = new RegExp(`[^\\n]*\\r${RegExp.escape('\u001b[K')}`, 'g');

/** What `execFile` throws if the program ended with another status than 0, or was killed. */
interface Failure {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly code?: number;
  readonly signal?: string;
}

type JsonObject = Record<string, unknown>;
const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const standIn = /(127\.0\.0\.1:\d+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|[\w+=-]*…)/;

function patternOf(text: string): string {
  if (text === '…') return '[^]*?';
  if (text.startsWith('127.')) return '127\\.0\\.0\\.1:\\d+';
  if (time.test(text)) return time.source.slice(1, -1);
  if (/^[0-9a-f]{8}-/.test(text)) return '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
  if (/^[0-9a-f]{8}…$/.test(text)) return '[0-9a-f]{64}';
  const prefix = /^(pl[a-z]_|whsec_)/.exec(text)?.[0] ?? '';
  return `${prefix}[\\w+/=-]+`;
}

/** Parses JSON in which the last member of an object or list may be `…`. */
const parseAnswer = (text: string): unknown =>
  JSON.parse(text.replaceAll(/([[{,]\s*)…(\s*\})/g, '$1"…": "…"$2').replaceAll(/([[,]\s*)…(\s*\])/g, '$1"…"$2'));

function first<Item>(items: readonly Item[], check: (item: Item, n: number) => string | undefined): string | undefined {
  for (const [n, item] of items.entries()) {
    const difference = check(item, n);
    if (difference !== undefined) return difference;
  }
  return undefined;
}
