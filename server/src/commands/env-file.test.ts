// Tests who can read the `.env` file.
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { addMissingKeys } from './env-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'plinth-env-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, '.env');
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe('the file .env', () => {
  it('is created for its owner only', () => {
    expect(addMissingKeys(file)).toEqual(['TOKEN_PEPPERS', 'SIGNING_KEY', 'MASTER_KEYS']);
    expect(modeOf(file)).toBe('600');
    expect(addMissingKeys(file)).toEqual([]);
  });

  it('that others could read is closed to them before keys are added, and keeps its lines', () => {
    const open = join(folder, 'open');
    writeFileSync(open, 'LOG_LEVEL=warn\nSIGNING_KEY=kept\n');
    chmodSync(open, 0o644);
    expect(addMissingKeys(open)).toEqual(['TOKEN_PEPPERS', 'MASTER_KEYS']);
    expect(modeOf(open)).toBe('600');
    expect(readFileSync(open, 'utf8')).toMatch(
      /^LOG_LEVEL=warn\nSIGNING_KEY=kept\nTOKEN_PEPPERS=.+\nMASTER_KEYS=.+\n$/,
    );
  });

  it('causes a warning at every start while others can read it', async () => {
    const main = fileURLToPath(new URL('../main.ts', import.meta.url));
    const start = async () =>
      (await promisify(execFile)(process.execPath, [main, 'keys', 'new'], { cwd: folder })).stderr;
    expect(await start()).toBe('');
    chmodSync(file, 0o640);
    expect(await start()).toBe(
      '.env contains keys, and other users on this machine can read it. Run: chmod 600 .env\n',
    );
  });
});
