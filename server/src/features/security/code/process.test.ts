// Tests the code-reading process with apps that would hang or crash it.
import { afterAll, describe, expect, it } from 'vitest';
import { listCodeProcesses } from '../../../../test/support/code-processes.ts';
import type { ScanFile } from '../finding.ts';
import { type CodeScan, type CodeScannerLimits, createCodeScanner } from './process.ts';

const secretKey = new Uint8Array(32);
const usual = createCodeScanner();
afterAll(() => usual.close());

async function* stream(files: Iterable<ScanFile>): AsyncGenerator<ScanFile> {
  yield* files;
}

const scan = (
  files: Readonly<Record<string, string>> | Iterable<ScanFile>,
  limits?: Partial<CodeScannerLimits>,
  { staticCode = true, totalMs = 50_000, signal = new AbortController().signal } = {},
): Promise<CodeScan> => {
  const list = Symbol.iterator in files ? files : Object.entries(files).map(([path, content]) => ({ path, content }));
  const scanner = limits === undefined ? usual : createCodeScanner({ maxIdleMs: 0, ...limits });
  return scanner.scan(stream(list as Iterable<ScanFile>), { staticCode, secretKey, totalMs }, signal);
};

const faulty = `Deno.serve(async (req) => {
  const { name } = await req.json();
  return Response.json(await db.query(\`select id from notes where name = '\${name}'\`));
});`;

const foundIn = (scanned: CodeScan) => scanned.staticCode.findings.map(({ item }) => item.file_path);

describe('a scan of code', () => {
  it('reports faults, secrets and what was looked at', async () => {
    const got = await scan({ 'functions/notes.ts': faulty, 'README.md': '# Notes' });
    expect(got.staticCode).toMatchObject({
      coverage: { value: 'ran' },
      findings: [{ rule_id: 'code.sql-injection', item: { category: 'injection', line_start: 3 } }],
    });
    expect(got.functions.coverage).toEqual({ value: 'ran' });
    expect(got.secrets).toEqual({ coverage: { value: 'ran' }, findings: [] });
    expect(got.integrations).toBe('not_used');
  });

  it('says which groups had no files, and which are off', async () => {
    const none = await scan({});
    expect(none.secrets.coverage).toEqual({ value: 'skipped', reason: 'no_files' });
    expect(none.functions.coverage).toEqual({ value: 'skipped', reason: 'no_files' });
    expect(none.staticCode.coverage).toEqual({ value: 'skipped', reason: 'no_files' });
    const off = await scan({ 'functions/notes.ts': faulty }, undefined, { staticCode: false });
    expect(off.staticCode).toEqual({ coverage: { value: 'off' }, findings: [] });
    expect(off.functions.coverage).toEqual({ value: 'ran' });
  });

  it('follows values into helpers of other files', async () => {
    const got = await scan({
      'functions/lib/files.ts': `import { readFile } from 'node:fs/promises';\nexport const load = (name: string) => readFile('data/' + name);`,
      'functions/download.ts': `import { load } from './lib/files.ts';\nexport default async (req: Request) => new Response(await load(new URL(req.url).searchParams.get('file')!));`,
    });
    expect(got.staticCode.findings).toMatchObject([
      { rule_id: 'code.path-traversal', item: { file_path: 'functions/lib/files.ts', line_start: 2 } },
    ]);
  });

  it.each<[string, string]>([
    ['nested brackets', `const x = ${'['.repeat(50_000)}`],
    ['nested calls', `${'f('.repeat(20_000)}1${')'.repeat(20_000)};`],
    ['a long sum', `const x = 1${' + 1'.repeat(100_000)};`],
    ['nested elements', `const x = ${'<b>'.repeat(20_000)};`],
    ['a line of 5 MiB', `const x = '${'a'.repeat(5 * 1024 * 1024)}';`],
    [
      'a cycle of values',
      Array.from({ length: 2_000 }, (_, at) => `let v${at} = v${(at + 1) % 2_000} + v${(at + 7) % 2_000};`).join('\n'),
    ],
  ])('leaves out what cannot be read, and reads the rest: %s', async (_name, content) => {
    const got = await scan({ 'src/hostile.tsx': content, 'functions/notes.ts': faulty });
    expect(foundIn(got)).toEqual(['functions/notes.ts']);
    expect(['ran', 'partial']).toContain(got.staticCode.coverage.value);
  });

  it('ends a process that an expression of the app would keep busy without end', async () => {
    const bomb = `Deno.serve(async (req) => {
      const { url } = await req.json();
      if (!/^(\\S+)+x(\\S+)+x(\\S+)+x(\\S+)+x(\\S+)+x(\\S+)+x(\\S+)+x(\\S+)+\\n$/.test(url)) return new Response();
      return fetch(url);
    });`;
    const got = await scan({ 'functions/a-bomb.ts': bomb, 'functions/notes.ts': faulty }, { maxFileMs: 3_000 });
    expect(foundIn(got)).toContain('functions/notes.ts');
  });

  it('replaces a process that runs out of memory', async () => {
    const large = Array.from({ length: 30_000 }, (_, at) => `const v${at} = { a: [${at}], b: () => v${at} };`).join(
      '\n',
    );
    const got = await scan({ 'src/large.ts': large, 'functions/notes.ts': faulty }, { maxHeapMb: 90 });
    expect(foundIn(got)).toEqual(['functions/notes.ts']);
    expect(got.staticCode.coverage).toEqual({ value: 'partial', reason: 'too_large' });
  });

  it('says that it is partial if not all findings are kept', async () => {
    const lines = Array.from({ length: 250 }, (_, at) => `const dbPassword = 'Gr33nTree!${at}x';`);
    const got = await scan({ 'functions/keys.ts': lines.join('\n') });
    expect(got.secrets.findings).toHaveLength(200);
    expect(got.secrets.coverage).toEqual({ value: 'partial', reason: 'too_large' });
  });

  it('ends in time, and says that it is partial', async () => {
    const many = Array.from({ length: 3_000 }, (_, at) => ({ path: `src/f${at}.ts`, content: faulty }));
    const got = await scan(many, undefined, { totalMs: 1_000 });
    expect(got.staticCode.coverage).toEqual({ value: 'partial', reason: 'too_large' });
    expect(got.secrets.coverage.value).toBe('partial');
  });

  it('continues with another process if one ends while it is sent the code, and the spare, too', async () => {
    async function* killAtEnd() {
      yield { path: 'functions/notes.ts', content: faulty };
      yield { path: 'functions/other.ts', content: faulty };
      const running = await listCodeProcesses();
      expect(running).toHaveLength(2); // the scan's own process and the spare
      for (const pid of running) process.kill(pid, 'SIGKILL');
    }
    const options = { staticCode: true, secretKey, totalMs: 45_000 };
    const got = await usual.scan(killAtEnd(), options, new AbortController().signal);
    expect(foundIn(got)).toEqual(['functions/notes.ts', 'functions/other.ts']);
  });

  it('stops after a number of processes, and says that it is partial', async () => {
    const nested = `const x = 1${' + 1'.repeat(100_000)};`;
    const files = { 'functions/a.ts': faulty, 'src/b.ts': nested, 'src/c.ts': nested, 'src/z.ts': faulty };
    const got = await scan(files, { maxFileMs: 1, maxProcesses: 2 });
    expect(got.staticCode).toEqual({ coverage: { value: 'partial', reason: 'too_large' }, findings: [] });
    expect(got.secrets.coverage).toEqual({ value: 'partial', reason: 'too_large' });
  });

  it('reads broken files as far as possible, and says that it is partial', async () => {
    const got = await scan({ 'functions/notes.ts': `${faulty}\nexport const broken = {{{ if (` });
    expect(foundIn(got)).toEqual(['functions/notes.ts']);
    expect(got.staticCode.coverage).toEqual({ value: 'partial', reason: 'too_large' });
  });

  it('stops when it is aborted', async () => {
    const controller = new AbortController();
    const running = scan({ 'functions/notes.ts': faulty }, undefined, { signal: controller.signal });
    controller.abort(new Error('lease lost'));
    await expect(running).rejects.toThrow('lease lost');
  });
});
