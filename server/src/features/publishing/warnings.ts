// Owns the warnings of a publish: what most often breaks an app once it is public. They are hints, found by simple rules, and
// never keep an app from being published.
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { hold } from '../../kit/process-time.ts';
import type { Db } from '../../tables.ts';
import type { Manifest, PublishWarning } from './contract.ts';
import { isText } from './serve/content-types.ts';
import type { AppContents } from './snapshot.ts';
import { listNamingLocalhost } from './store.ts';

export interface WarningDeps {
  readonly addresses: AppAddresses;
  readonly contents: AppContents;
  /** The entities with operations that anonymous callers may use, by their rules. */
  listOpenEntities(
    db: Db,
    access: AppAccess,
  ): Promise<readonly { readonly name: string; readonly operations: readonly string[] }[]>;
}

export interface Warnings {
  readonly warnings: PublishWarning[];
  /** There are more than are listed. */
  readonly isTruncated: boolean;
  /** Not all code was looked at. */
  readonly isPartial: boolean;
}

const maxOfKind = 20;

export async function listWarnings(
  db: Db,
  access: AppAccess,
  { files, leftOut }: { readonly files: Manifest; readonly leftOut: readonly string[] },
  deps: WarningDeps,
): Promise<Warnings> {
  const secrets = await warnOfSecrets(db, access, deps);
  const kinds = [
    deps.addresses.areSandboxed ? [sandboxed] : [],
    leftOut.map(warnOfLeftOut),
    secrets.warnings,
    await warnOfOpenEntities(db, access, deps),
    await warnOfLocalhost(db, access, files),
  ];
  return {
    warnings: kinds.flatMap((kind) => kind.slice(0, maxOfKind)),
    isTruncated: kinds.some((kind) => kind.length > maxOfKind),
    isPartial: secrets.isPartial,
  };
}

const sandboxed: PublishWarning = {
  code: 'sandboxed_address',
  message:
    'This installation has no domain for apps, so browsers run the app in a sandbox: modules, storage and calls of its data do not work. Ask the operator to set APPS_DOMAIN.',
};

const warnOfLeftOut = (path: string): PublishWarning => ({
  code: 'file_left_out',
  message: 'Hidden files, and a file or folder `_plinth`, are not published. Rename it if visitors need it.',
  path,
});

async function warnOfOpenEntities(db: Db, access: AppAccess, deps: WarningDeps): Promise<PublishWarning[]> {
  if (access.app.public_settings !== 'public_without_login') return [];
  const open = await deps.listOpenEntities(db, access);
  return open.map(({ name, operations }) => ({
    code: 'entity_open_to_anonymous',
    message: `Everybody on the web may use records of ${name} without signing in: ${operations.join(', ')}. Change its rules if that is not meant.`,
  }));
}

async function warnOfLocalhost(db: Db, access: AppAccess, files: Manifest): Promise<PublishWarning[]> {
  const texts = Object.entries(files).filter(([path]) => isText(path));
  const blobs = await listNamingLocalhost(db, access, [...new Set(texts.map(([, { blob }]) => blob))]);
  return texts
    .filter(([, { blob }]) => blobs.has(blob))
    .map(([path]) => ({
      code: 'localhost_address',
      message:
        "The file contains an address on localhost, which visitors can't reach. Use a public or relative address.",
      path,
    }));
}

// ---- secrets

const maxCodeBytes = 512 * 1024;
const maxCodeFiles = 100;

/** How backend functions name secrets: `$secrets.NAME`, or as a variable of the environment in Node and in Deno. */
const secretForm = /(?:\$secrets\.|process\.env\.|Deno\.env\.get\(\s*['"`])([A-Z][A-Z0-9_]{0,63})\b/g;
/** Every runtime sets these. */
const alwaysSet = new Set(['NODE_ENV', 'PATH', 'HOME', 'TZ', 'PORT']);

async function warnOfSecrets(
  db: Db,
  access: AppAccess,
  { contents }: WarningDeps,
): Promise<{ warnings: PublishWarning[]; isPartial: boolean }> {
  const { files } = await contents.listFilesIn(db, access, ['functions']);
  const looked = takeWhileSmall(files);
  const named = new Map<string, string>();
  for (const { path, content } of looked.length === 0 ? [] : await contents.readFiles(db, access, looked)) {
    const names = await hold(() => [...content.toString('utf8').matchAll(secretForm)].map(([, name = '']) => name));
    for (const name of names) if (!alwaysSet.has(name) && !named.has(name)) named.set(name, path);
  }
  const set = named.size === 0 ? [] : await contents.listSecretNames(db, access);
  const missing = [...named].filter(([name]) => !set.includes(name)).sort();
  return {
    warnings: missing.map(([name, path]) => ({
      code: 'secret_not_set',
      message: `The code uses the secret ${name}, which is not set. Set it, or remove it from the code.`,
      path,
    })),
    isPartial: looked.length < files.length,
  };
}

/** The paths of as many files as are looked at. */
function takeWhileSmall(files: readonly { readonly path: string; readonly size: number }[]): string[] {
  let bytes = 0;
  return files
    .filter(({ size }, index) => {
      if (index >= maxCodeFiles || bytes + size > maxCodeBytes) return false;
      bytes += size;
      return true;
    })
    .map(({ path }) => path);
}
