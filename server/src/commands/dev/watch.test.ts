// Tests on a real file system that changes made by editors and git are detected.
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { watchFolders } from './watch.ts';

const folder = mkdtempSync(join(tmpdir(), 'watch-'));
afterAll(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'a/b'), { recursive: true });
const file = join(folder, 'a/b/x.ts');
writeFileSync(file, '0');
const changes: string[][] = [];
watchFolders([folder, join(folder, 'missing')], (files) => void changes.push([...files].sort()));
const nextChange = async () => {
  await expect.poll(() => changes.length).toBeGreaterThan(0);
  return changes.splice(0).flat();
};

it('a file that is replaced is noticed each time', async () => {
  for (const text of ['1', '2', '3']) {
    writeFileSync(`${file}.tmp`, text);
    renameSync(`${file}.tmp`, file);
    expect(await nextChange()).toContain(file);
  }
});

it('a file that is written in place or removed is noticed', async () => {
  writeFileSync(file, '4');
  expect(await nextChange()).toContain(file);
  rmSync(file);
  expect(await nextChange()).toContain(file);
});

it('files of a new folder are noticed, and so are those of one that is removed and made again', async () => {
  const added = join(folder, 'a/new/deep/y.ts');
  for (const text of ['1', '2']) {
    mkdirSync(join(folder, 'a/new/deep'), { recursive: true });
    writeFileSync(added, text);
    expect(await nextChange()).toContain(added);
    writeFileSync(added, `${text}, changed`);
    expect(await nextChange()).toContain(added);
    rmSync(join(folder, 'a/new'), { recursive: true });
    await nextChange();
  }
});

it('files that are saved together are one change', async () => {
  const names = ['1.ts', '2.ts', '3.ts'].map((name) => join(folder, 'a/b', name));
  for (const name of names) writeFileSync(name, 'x');
  await expect.poll(() => changes).toEqual([names]);
});
