// Tests which files are read to find an app's packages.
import { describe, expect, it } from 'vitest';
import { choosePackageFiles } from './files.ts';

const choose = (...paths: string[]) => {
  const { files, isWhole } = choosePackageFiles(paths.map((path) => ({ path, size: 10 })));
  return { paths: files.map(({ path }) => path), isWhole };
};
const times = (count: number, path: (at: number) => string) => Array.from({ length: count }, (_, at) => path(at));

describe('choosePackageFiles', () => {
  it('finds the lock file among hundreds of manifests', () => {
    const many = times(300, (at) => `a${at}/package.json`);
    expect(choose(...many, 'package.json', 'src/a.ts', 'yarn.lock')).toEqual({
      paths: ['package.json', 'yarn.lock'],
      isWhole: true,
    });
  });

  it('takes 20 lock files, and says that there are more', () => {
    const { paths, isWhole } = choose(...times(21, (at) => `${at}/yarn.lock`));
    expect([paths.length, isWhole]).toEqual([20, false]);
  });

  it('leaves out a package.json that nobody has written', () => {
    const listed = [
      { path: 'package.json', size: 2 * 1024 * 1024 },
      { path: 'yarn.lock', size: 10 },
    ];
    expect(choosePackageFiles(listed)).toEqual({ files: listed.slice(1), isWhole: false });
  });

  it('finds nothing without a lock file', () => {
    expect(choose('package.json')).toEqual({ paths: [], isWhole: true });
  });
});
