// Reads pnpm lock files, versions 5 to 9.
import { FAILSAFE_SCHEMA, loadAll } from 'js-yaml';
import { valid } from 'semver';
import { entriesOf, fieldOf, type LockedPackage, type LockedPackages, type Manifest, textOf } from './entry.ts';

export function readPnpm(content: string, manifest: Manifest): LockedPackages {
  // Parsed without types, so version 1.10 does not become 1.1. All documents except the last describe pnpm itself.
  const document = loadAll(content, { schema: FAILSAFE_SCHEMA }).at(-1);
  if (fieldOf(document, 'lockfileVersion') === undefined) throw new Error('not a lock file');
  const direct = listDirect(document, manifest);
  const found: LockedPackage[] = [];
  let isComplete = true;
  for (const [key, entry] of entriesOf(fieldOf(document, 'packages'))) {
    const parsed = parseKey(key);
    const name = textOf(fieldOf(entry, 'name')) ?? parsed?.name;
    const version = [parsed?.version, textOf(fieldOf(entry, 'version'))].find((each) => valid(each) !== null);
    if (name !== undefined && version !== undefined)
      found.push({ name, version, direct: direct.has(`${name}@${version}`) });
    else isComplete &&= isLocal(key);
  }
  return { packages: found, isComplete };
}

const isLocal = (key: string): boolean => /(?:^|@)(?:file|link|workspace):/.test(key);

/**
 * Parses keys such as `/lodash/4.17.20` and `/@a/b/1.0.0_react@18.2.0` (version 5), `/lodash@4.17.20(react@18.2.0)`
 * (version 6) and `lodash@4.17.20` (version 9). Returns `undefined` if the key is a package URL.
 */
function parseKey(key: string): { readonly name: string; readonly version: string } | undefined {
  const text = key.replace(/\(.*$/, '').replace(/^\//, '');
  const [, name, version] =
    /^((?:@[^/@]+\/)?[^/@]+)@([^/@]+)$/.exec(text) ?? /^((?:@[^/@]+\/)?[^/@]+)\/(\d[^/_]*)(?:_.*)?$/.exec(text) ?? [];
  return name === undefined || version === undefined ? undefined : { name, version };
}

/** The packages that the app or one of its own packages depends on directly, as `name@version`. */
function listDirect(document: unknown, manifest: Manifest): ReadonlySet<string> {
  const importers = [document, ...entriesOf(fieldOf(document, 'importers')).map(([, importer]) => importer)];
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies'];
  const asked = importers.flatMap((importer) => groups.flatMap((group) => entriesOf(fieldOf(importer, group))));
  const direct = asked.map(([name, value]) => {
    const text = (textOf(fieldOf(value, 'version')) ?? textOf(value) ?? '').replace(/\(.*$/, '');
    // An alias contains the key of the real package, such as `/lodash@4.17.20`.
    const alias = /^\d/.test(text) ? undefined : parseKey(text);
    return alias === undefined ? `${name}@${text.replace(/_.*$/, '')}` : `${alias.name}@${alias.version}`;
  });
  return new Set(asked.length > 0 ? direct : [...manifest].map(([name, range]) => `${name}@${range}`));
}
