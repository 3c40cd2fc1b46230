// Tests lock files in all formats, as written by their package managers.
import { describe, expect, it } from 'vitest';
import { readLockfile } from './lockfile.ts';

const manifest = JSON.stringify({
  dependencies: { lodash: '^4.17.20', mine: 'npm:axios@^0.21.0' },
  devDependencies: { '@a/b': '^1.0.0' },
});
const read = (path: string, content: string, withManifest: string | undefined = manifest) => {
  const locked = readLockfile({ path, content, manifest: withManifest });
  return (
    locked && {
      isComplete: locked.isComplete,
      packages: locked.packages
        .map(({ name, version, direct }) => `${name}@${version}${direct ? ' direct' : ''}`)
        .toSorted(),
    }
  );
};
const expected = {
  isComplete: true,
  packages: ['@a/b@1.10.0 direct', 'axios@0.21.0 direct', 'lodash@4.17.20 direct', 'ms@2.0.0', 'ms@2.1.3'],
};

describe('npm', () => {
  it('reads version 3, with aliases, nested copies, links and own packages', () => {
    const packages = {
      '': {
        name: 'app',
        dependencies: { lodash: '^4.17.20', mine: 'npm:axios@^0.21.0' },
        devDependencies: { '@a/b': '^1.0.0' },
      },
      'node_modules/lodash': { version: '4.17.20' },
      'node_modules/mine': { name: 'axios', version: '0.21.0' },
      'node_modules/@a/b': { version: '1.10.0', dev: true },
      'node_modules/ms': { version: '2.1.3' },
      'node_modules/@a/b/node_modules/ms': { version: '2.0.0' },
      'node_modules/own': { resolved: 'packages/own', link: true },
      'packages/own': { version: '9.9.9' },
    };
    expect(read('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages }))).toEqual(expected);
    expect(read('web/npm-shrinkwrap.json', JSON.stringify({ lockfileVersion: 2, packages }))).toEqual(expected);
  });

  it('counts what an own package asks for as direct', () => {
    const packages = {
      '': { workspaces: ['packages/*'] },
      'packages/own': { version: '1.0.0', dependencies: { ms: '^2.0.0' } },
      'packages/own/node_modules/ms': { version: '2.0.0' },
      'node_modules/other': { version: '1.0.0' },
      'node_modules/other/node_modules/ms': { version: '2.1.3' },
    };
    expect(read('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages }))?.packages).toEqual([
      'ms@2.0.0 direct',
      'ms@2.1.3',
      'other@1.0.0',
    ]);
  });

  it('reads version 1', () => {
    const dependencies = {
      lodash: { version: '4.17.20' },
      mine: { version: 'npm:axios@0.21.0' },
      '@a/b': { version: '1.10.0', dependencies: { ms: { version: '2.0.0' } } },
      ms: { version: '2.1.3' },
      local: { version: 'file:../local' },
    };
    expect(read('package-lock.json', JSON.stringify({ lockfileVersion: 1, dependencies }))).toEqual(expected);
  });

  it('says that it is incomplete if a version is not known', () => {
    const packages = {
      '': {},
      'node_modules/a': { resolved: 'git+ssh://git@github.com/a/a.git#1' },
      'node_modules/b': { version: '1.0.0' },
    };
    expect(read('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages }))).toEqual({
      isComplete: false,
      packages: ['b@1.0.0'],
    });
  });
});

describe('pnpm', () => {
  it('reads version 9', () => {
    const content = `lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      lodash:
        specifier: ^4.17.20
        version: 4.17.20
      mine:
        specifier: npm:axios@^0.21.0
        version: axios@0.21.0(debug@4.3.4)
      own:
        specifier: workspace:*
        version: link:packages/own
    devDependencies:
      '@a/b':
        specifier: ^1.0.0
        version: 1.10.0(lodash@4.17.20)
packages:
  '@a/b@1.10.0':
    resolution: {integrity: sha512-x}
    peerDependencies: {lodash: '*'}
  axios@0.21.0:
    resolution: {integrity: sha512-x}
  lodash@4.17.20:
    resolution: {integrity: sha512-x}
  ms@2.0.0:
    resolution: {integrity: sha512-x}
  ms@2.1.3:
    resolution: {integrity: sha512-x}
  own@file:packages/own:
    resolution: {directory: packages/own, type: directory}
snapshots:
  '@a/b@1.10.0(lodash@4.17.20)':
    dependencies: {lodash: 4.17.20}
`;
    expect(read('pnpm-lock.yaml', content)).toEqual(expected);
    expect(read('pnpm-lock.yaml', `---\nlockfileVersion: '9.0'\n---\n${content}`)).toEqual(expected);
  });

  it('reads version 6', () => {
    const content = `lockfileVersion: '6.0'
dependencies:
  lodash: {specifier: ^4.17.20, version: 4.17.20}
  mine: {specifier: 'npm:axios@^0.21.0', version: /axios@0.21.0}
devDependencies:
  '@a/b': {specifier: ^1.0.0, version: 1.10.0(lodash@4.17.20)}
packages:
  /@a/b@1.10.0(lodash@4.17.20): {dev: true}
  /axios@0.21.0: {dev: false}
  /lodash@4.17.20: {dev: false}
  /ms@2.0.0: {dev: false}
  /ms@2.1.3: {dev: false}
`;
    expect(read('pnpm-lock.yaml', content)).toEqual(expected);
  });

  it('reads version 5', () => {
    const content = `lockfileVersion: 5.4
specifiers: {lodash: ^4.17.20}
dependencies:
  lodash: 4.17.20
  mine: /axios/0.21.0
devDependencies:
  '@a/b': 1.10.0_lodash@4.17.20
packages:
  /@a/b/1.10.0_lodash@4.17.20: {dev: true}
  /axios/0.21.0: {dev: false}
  /lodash/4.17.20: {dev: false}
  /ms/2.0.0: {dev: false}
  /ms/2.1.3: {dev: false}
`;
    expect(read('pnpm-lock.yaml', content)).toEqual(expected);
  });

  it('takes the version of an address from its entry, and says that it is incomplete without one', () => {
    const content = `lockfileVersion: '9.0'
packages:
  a@https://codeload.github.com/a/a/tar.gz/1:
    version: 1.2.3
  b@https://codeload.github.com/b/b/tar.gz/1:
    resolution: {tarball: x}
`;
    expect(read('pnpm-lock.yaml', content)?.isComplete).toBe(false);
  });
});

describe('yarn', () => {
  it('reads the classic format', () => {
    const content = `# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.
# yarn lockfile v1


"@a/b@^1.0.0":
  version "1.10.0"
  resolved "https://registry.yarnpkg.com/@a/b/-/b-1.10.0.tgz#1"
  dependencies:
    ms "2.0.0"

lodash@^4.0.0, lodash@^4.17.20:
  version "4.17.20"

"mine@npm:axios@^0.21.0":
  version "0.21.0"

ms@2.0.0:
  version "2.0.0"

ms@^2.1.1:
  version "2.1.3"
`;
    expect(read('yarn.lock', content)).toEqual(expected);
  });

  it('reads the format since version 2, by what is resolved', () => {
    const content = `# This file is generated by running "yarn install" inside your project.

__metadata:
  version: 8
  cacheKey: 10c0

"@a/b@npm:^1.0.0":
  version: 1.10.0
  resolution: "@a/b@npm:1.10.0"
  languageName: node

"app@workspace:.":
  version: 0.0.0-use.local
  resolution: "app@workspace:."
  dependencies:
    "@a/b": "npm:^1.0.0"
    lodash: "npm:^4.17.20"
    mine: "npm:axios@^0.21.0"

"lodash@npm:^4.0.0, lodash@npm:^4.17.20":
  version: 4.17.20
  resolution: "lodash@npm:4.17.20"

"mine@npm:axios@^0.21.0":
  version: 0.21.0
  resolution: "axios@npm:0.21.0"

"ms@npm:2.0.0":
  version: 2.0.0
  resolution: "ms@npm:2.0.0"

"ms@patch:ms@npm%3A2.1.3#~builtin<compat/ms>":
  version: 2.1.3
  resolution: "ms@patch:ms@npm%3A2.1.3#~builtin<compat/ms>::version=2.1.3&hash=1"
`;
    expect(read('yarn.lock', content, undefined)).toEqual(expected);
  });
});

it.each([
  ['package-lock.json', '{"lockfileVersion": 3, "packages": {'],
  ['package-lock.json', '{}'],
  ['package-lock.json', '[]'],
  ['pnpm-lock.yaml', 'packages: [unclosed'],
  ['pnpm-lock.yaml', 'hello'],
  ['yarn.lock', '}{'],
  ['yarn.lock', 'a@1:\n  version "1.0.0"\n<<<<<<< HEAD\n  x "1"\n=======\n  x "2"\n>>>>>>> other\n'],
])('does not read a broken %s: %s', (path, content) => {
  expect(readLockfile({ path, content, manifest: undefined })).toBeUndefined();
});
