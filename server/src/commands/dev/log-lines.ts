// The log format of `plinth dev`, which has one short, readable line per line of JSON.
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { demoRequestPrefix } from '../demo/request.ts';

const levels: Readonly<Record<number, { name: string; style: 'red' | 'yellow' | 'dim' | 'reset' }>> = {
  20: { name: 'debug', style: 'dim' },
  40: { name: 'warning', style: 'yellow' },
  50: { name: 'error', style: 'red' },
  60: { name: 'fatal', style: 'red' },
};

/** A destination for a process's log. `source` is the process: api, worker or sandbox. */
export function prettyLog(source: string): Writable {
  let rest = '';
  return new Writable({
    write(chunk, _encoding, done) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines.filter((line) => !isOwnRequest(line))) console.log(formatLogLine(line, source));
      done();
    },
  });
}

/** Whether the line only reports the completion of one of `plinth dev`'s own requests. */
export function isOwnRequest(line: string): boolean {
  const entry = parse(line);
  return entry !== undefined && (entry.level ?? 0) <= 30 && String(entry.request_id).startsWith(demoRequestPrefix);
}

/** Returns text that is not a JSON log line unchanged. */
export function formatLogLine(line: string, source: string): string {
  const entry = parse(line);
  if (entry === undefined) return line;
  const { level = 30, time = '', msg = '', error, ...fields } = entry;
  const { name, style } = levels[level] ?? { name: '', style: 'reset' };
  const start = styleText('dim', `${time.slice(11, 19)} ${source.padEnd(8)}`);
  const text = fields.operation && fields.status ? describeRequest(fields) : `${msg}${describeFields(fields)}`;
  const stack = error === undefined ? '' : `\n  ${(error.stack ?? error.message ?? '').replaceAll('\n', '\n  ')}`;
  return start + styleText(style, (name === '' ? '' : `${name}: `) + text + stack);
}

interface Entry {
  readonly level?: number;
  readonly time?: string;
  readonly msg?: string;
  readonly error?: { readonly message?: string; readonly stack?: string };
  readonly [field: string]: unknown;
}

function parse(line: string): Entry | undefined {
  try {
    const value = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'level' in value ? value : undefined;
  } catch {
    return undefined;
  }
}

function describeRequest({ status, operation, duration_ms, request_id }: Omit<Entry, 'error'>): string {
  const answer = styleText(Number(status) < 400 ? 'green' : 'yellow', String(status));
  return `${answer} ${operation}, ${Math.round(Number(duration_ms))} ms  ${styleText('dim', `request ${request_id}`)}`;
}

/** Leaves out lists and objects to keep the line readable. */
const describeFields = (fields: Omit<Entry, 'error'>): string =>
  Object.entries(fields)
    .filter(([, value]) => typeof value !== 'object')
    .map(([name, value]) => `  ${name}=${String(value)}`)
    .join('');
