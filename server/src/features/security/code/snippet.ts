// The lines of code that a finding shows, with secrets masked. When in doubt, a value is masked.
import type ts from 'typescript';
import { findMarkedSecrets } from '../secrets/secrets.ts';
import { endLineOf, lineOf } from './syntax.ts';

const maxLines = 10;
const maxLineLength = 300;
/** Lines are masked before they are truncated, because half a secret no longer matches its pattern. */
const maxMaskedLength = 4_000;

export function snippetOf(node: ts.Node): string {
  const source = node.getSourceFile();
  const first = lineOf(node);
  const last = Math.min(endLineOf(node), first + maxLines - 1);
  const starts = source.getLineStarts();
  const text = hideMarked(source, starts[first - 1] ?? 0, starts[last] ?? source.text.length);
  const whole = text.trimEnd().split(/\r?\n/);
  const lines = maskSecrets(whole.map((line) => line.slice(0, maxMaskedLength)).join('\n')).split('\n');
  const indent = Math.min(
    ...lines.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length),
  );
  const start = Number.isFinite(indent) ? indent : 0;
  return lines.map((line) => line.slice(start, start + maxLineLength)).join('\n');
}

const markedOf = new WeakMap<ts.SourceFile, ReturnType<typeof findMarkedSecrets>>();

/** The source between two offsets. Secrets that the secret search finds in the file are masked. */
function hideMarked(source: ts.SourceFile, from: number, to: number): string {
  const marked = markedOf.get(source) ?? findMarkedSecrets(source.text, source.fileName);
  markedOf.set(source, marked);
  let shown = '';
  let at = from;
  for (const { start, end } of marked) {
    if (end <= at || start >= to) continue;
    shown += source.text.slice(at, Math.max(at, start));
    shown += start < at ? '…' : mask(source.text.slice(start, end));
    at = end;
  }
  return shown + source.text.slice(at, Math.max(at, to));
}

const secretName = String.raw`[\w-]{0,40}(?:pass|pwd|secret|token|key|credential|auth|sig)[\w-]{0,40}`;
/** Patterns for secrets. The first group is the text before the secret, and the second is the secret. */
const forms: readonly RegExp[] = [
  /** `postgres://app:PASSWORD@db`. */
  /(:\/\/[^\s:@/'"`]{0,128}:)([^\s@/'"`]{1,256})(?=@)/g,
  /** `mysql -pPASSWORD`, `--password=PASSWORD`. */
  /(\s(?:-p|--?pass\w{0,10}[= ]))([^\s'"`]{4,256})/g,
  /** `?sig=SECRET`, `PGPASSWORD=SECRET psql`. */
  new RegExp(`((?<![\\w-])${secretName}=)([^\\s&;'"\`=>{(]{4,512})`, 'gi'),
  /** `dbPass = 'SECRET'`, `"api-key": "SECRET"`, `env.KEY ?? 'SECRET'`. */
  new RegExp(
    `((?<![\\w-])${secretName}['"\`]?[\\])]{0,2}\\s{0,4}(?::\\s{0,4}\\w{1,20}\\s{0,4})?(?:[!=]==?|\\|\\|=?|\\?\\?=?|[=:])\\s{0,4}['"\`])([^'"\`\\n]{3,1024})`,
    'gi',
  ),
  /** `set('token', 'SECRET')`, `setToken('SECRET')`. Values with spaces are skipped, because they are ordinary text. */
  new RegExp(`((?<![\\w-])${secretName}['"\`]?\\s{0,4}[,(]\\s{0,4}['"\`])([^'"\`\\s]{3,1024})`, 'gi'),
  /** `login('admin', 'SECRET')`. */
  /((?:login|log_in|sign_?in|authenticate|connect)\w{0,20}\([^()\n]{0,200},\s{0,4}['"`])([^'"`\n]{3,1024})/gi,
];
/** Quoted strings of letters and digits without spaces, such as passwords, and longer runs even outside quotes. */
const mixedLiteral = /(?<=(['"`]))([^'"`\s/${}<>()]{8,1024})(?=\1)/g;
const longRun = /[A-Za-z0-9+/_-]{24,}={0,2}/g;

function maskSecrets(text: string): string {
  let masked = text;
  for (const form of forms) masked = masked.replace(form, (_, before: string, value: string) => before + mask(value));
  return masked.replace(mixedLiteral, maskMixed).replace(longRun, maskMixed);
}

const maskMixed = (value: string): string => (/\d/.test(value) && /[a-z]/i.test(value) ? mask(value) : value);

/** Four characters would reveal too much of a short password. Values that are already masked stay the same. */
function mask(value: string): string {
  if (value.endsWith('…') || value.startsWith('${')) return value;
  return `${value.length < 12 ? '' : value.slice(0, 4)}…`;
}
