// The warnings about the most common problems of public apps, which publishing returns. They are hints based on
// simple rules, and never prevent publishing.
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import { hold } from '../../kit/process-time.ts';
import type { Db } from '../../tables.ts';
import type { Manifest, PublishWarning } from './contract.ts';
import { isText } from './serve/content-types.ts';
import type { SignInOffer } from './serve/live-apps.ts';
import type { AppContents } from './snapshot.ts';
import { type ContentTraits, findTraits } from './store.ts';

export interface WarningDeps {
  readonly readSignInOffer: (db: Db, app: AppAccess['app']) => Promise<SignInOffer>;
  readonly addresses: AppAddresses;
  readonly contents: AppContents;
  /** Lists entities with operations that their rules allow for anonymous callers. */
  listOpenEntities(
    db: Db,
    access: AppAccess,
  ): Promise<readonly { readonly name: string; readonly operations: readonly string[] }[]>;
}

export interface Warnings {
  readonly warnings: PublishWarning[];
  /** Whether there are more warnings than are listed. */
  readonly isTruncated: boolean;
  /** Whether some code was not checked. */
  readonly isPartial: boolean;
}

const maxOfKind = 20;

export async function listWarnings(
  db: Db,
  deps: WarningDeps,
  access: AppAccess,
  { files, leftOut }: { readonly files: Manifest; readonly leftOut: readonly string[] },
): Promise<Warnings> {
  const secrets = await warnOfSecrets(db, deps, access);
  const texts = await listTexts(db, access, files);
  const kinds = [
    deps.addresses.areSandboxed ? [sandboxed] : [],
    leftOut.map(warnOfLeftOut),
    secrets.warnings,
    await warnOfOpenEntities(db, deps, access),
    texts.filter(({ namesLocalhost }) => namesLocalhost).map(warnOfLocalhost),
    await warnOfClosedSignUp(db, deps, access, texts),
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
    "This installation has no domain for apps, so browsers run the app in a sandbox where modules, storage and access to its data don't work. Ask the operator to set APPS_DOMAIN.",
};

const warnOfLeftOut = (path: string): PublishWarning => ({
  code: 'file_left_out',
  message: "Hidden files, and files or folders named `_plinth`, aren't published. Rename this one if visitors need it.",
  path,
});

async function warnOfOpenEntities(db: Db, deps: WarningDeps, access: AppAccess): Promise<PublishWarning[]> {
  if (access.app.public_settings !== 'public_without_login') return [];
  const open = await deps.listOpenEntities(db, access);
  return open.map(({ name, operations }) => ({
    code: 'entity_open_to_anonymous',
    message: `Anyone on the web can access ${name} records without signing in (${operations.join(', ')}). Change the entity's rules if you don't want this.`,
  }));
}

// ---- the contents of text files

type Text = ContentTraits & { readonly path: string };

async function listTexts(db: Db, access: AppAccess, files: Manifest): Promise<Text[]> {
  const texts = Object.entries(files).filter(([path]) => isText(path));
  const traits = await findTraits(db, access, [...new Set(texts.map(([, { blob }]) => blob))]);
  return texts.flatMap(([path, { blob }]) => {
    const found = traits.get(blob);
    return found === undefined ? [] : [{ ...found, path }];
  });
}

const warnOfLocalhost = ({ path }: Text): PublishWarning => ({
  code: 'localhost_address',
  message: "The file contains a localhost URL, which visitors can't reach. Use a public or relative URL.",
  path,
});

async function warnOfClosedSignUp(
  db: Db,
  deps: WarningDeps,
  { app }: AppAccess,
  texts: readonly Text[],
): Promise<PublishWarning[]> {
  const [first] = texts.filter(({ offersSignUp }) => offersSignUp);
  if (first === undefined || (await deps.readSignInOffer(db, app)).sign_up !== 'closed') return [];
  return [{ code: 'sign_up_closed', message: signUpClosed, path: first.path }];
}

const signUpClosed =
  "The app has a form for creating an account, but sign-up is closed, or this installation can't send e-mail, so nobody can create one. Open sign-up with setAppAuthSettings, tell the assistant who may sign up, or create the users yourself.";

// ---- secrets

const maxCodeBytes = 512 * 1024;
const maxCodeFiles = 100;

/** Matches references to secrets in backend functions: `$secrets.NAME`, or an environment variable in Node or Deno. */
const secretForm = /(?:\$secrets\.|process\.env\.|Deno\.env\.get\(\s*['"`])([A-Z][A-Z0-9_]{0,63})\b/g;
/** Variables that every runtime sets. */
const alwaysSet = new Set(['NODE_ENV', 'PATH', 'HOME', 'TZ', 'PORT']);

async function warnOfSecrets(
  db: Db,
  { contents }: WarningDeps,
  access: AppAccess,
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
      message: `The code uses the secret ${name}, which is not set. Functions are stored but not run: call the service from a workflow or through a connector, or remove the code.`,
      path,
    })),
    isPartial: looked.length < files.length,
  };
}

/** Lists the paths of the files to check, up to the limits on number and size. */
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
