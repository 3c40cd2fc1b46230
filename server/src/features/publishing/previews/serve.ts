// Finds what a preview's host serves: the files of one revision, which are in the database, with a script in each page
// that reports to the console. A preview itself is never cached, so its end and a new revision are seen at once. A
// revision never changes, so its list of files and its contents are cached.
import type { OutgoingHttpHeaders } from 'node:http';
import { findPreview } from '../../../core/auth/previews.ts';
import type { AppReach } from '../../../core/auth/proofs.ts';
import { findAccessAsService } from '../../../core/auth/proofs-without-guard.ts';
import type { AppAddresses } from '../../../core/identity/app-addresses.ts';
import { createByteCache } from '../../../kit/byte-cache.ts';
import type { Shares } from '../../../kit/db/shares.ts';
import { createFairGate } from '../../../kit/fair-gate.ts';
import { notFound, type Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { HeaderSettings } from '../contract.ts';
import { listAddresses } from '../preview.ts';
import { toPreviewHeaders } from '../serve/app-headers.ts';
import { contentTypeOf } from '../serve/content-types.ts';
import { type Content, type Contents, readWhole } from '../serve/contents.ts';
import type { SignInOffer } from '../serve/live-apps.ts';
import { type Files, resolvePath } from '../serve/path.ts';
import type { PlatformFiles, Served } from '../serve/serve.ts';
import { type FileVersion, inShare, publishedFolders } from '../snapshot.ts';
import { addScript, previewScriptName } from './page-script.ts';

/** The files and headers of revisions that are kept. If a revision is not, they throw 404. */
export interface KeptRevisions {
  listFiles(
    db: Db,
    access: AppReach,
    revision: number,
    page: { readonly prefix: string; readonly limit: number; readonly after: undefined },
  ): Promise<readonly FileVersion[]>;
  readFiles(
    db: Db,
    access: AppReach,
    revision: number,
    paths: readonly string[],
  ): Promise<readonly { readonly content: Buffer }[]>;
  findHeaders(
    db: Db,
    access: AppReach,
    revision: number,
  ): Promise<Pick<HeaderSettings, 'csp' | 'permissions_policy'> | undefined>;
  require(db: Db, access: AppReach, revision: number): Promise<void>;
}

export interface PreviewServeDeps {
  readonly db: Db;
  readonly clock: { now(): Date };
  readonly shares: Shares;
  readonly addresses: AppAddresses;
  readonly revisions: KeptRevisions;
  readonly published: Contents;
  readonly platformFiles: PlatformFiles;
  /** The origin of the page that shows previews in frames. */
  readonly consoleOrigin: string;
  /** The script of `platform/preview.browser.js`. */
  readonly pageScript: Buffer;
  readSignInOffer(db: Db, app: AppReach['app']): Promise<SignInOffer>;
  /** Returns the error for a client that has requested too many previews that don't exist. */
  findRefusal(client: string): Problem | undefined;
  onUnknown(client: string): void;
}

interface Revision {
  readonly files: Files<FileVersion>;
  readonly headers: OutgoingHttpHeaders;
}

/** As many as an app can have. */
const maxFiles = 5_000;
const revisionCacheBytes = 16 * 1024 * 1024;
const bytesPerFile = 500;

/** Finds a preview, with the access to its app. Undefined if there is no such preview, or its app was deleted. */
export async function findShown(db: Db, label: string, now: Date) {
  const preview = await findPreview(db, label, now);
  const access = preview && (await findAccessAsService(db, preview));
  return access && { access, revision: preview?.revision ?? access.app.revision };
}

export function createPreviews(deps: PreviewServeDeps) {
  const { db, clock, revisions, published, platformFiles, pageScript, consoleOrigin } = deps;
  const gate = createFairGate({ inAll: 4, perOwner: 2, maxWaitingOfOwner: 100, maxWaitMs: 5_000 });
  const known = createByteCache<Revision>(revisionCacheBytes, ({ files }) => 1_000 + files.size * bytesPerFile);

  async function findShownTo(client: string, label: string) {
    const refusal = deps.findRefusal(client);
    if (refusal !== undefined) throw refusal;
    const leave = await gate.enter(client);
    try {
      const shown = await findShown(db, label, clock.now());
      if (shown === undefined) deps.onUnknown(client);
      return shown;
    } finally {
      leave();
    }
  }

  async function loadRevision(access: AppReach, revision: number): Promise<Revision> {
    return inShare(access, deps.shares, async () => {
      const files: FileVersion[] = [];
      for (const folder of publishedFolders)
        files.push(
          ...(await revisions.listFiles(db, access, revision, {
            prefix: `${folder}/`,
            limit: maxFiles,
            after: undefined,
          })),
        );
      const settings = (await revisions.findHeaders(db, access, revision)) ?? {};
      const { areSandboxed: isSandboxed, urlOf } = deps.addresses;
      const host = new URL(urlOf(access.app.slug)).hostname;
      return { files: listAddresses(files), headers: toPreviewHeaders(settings, { isSandboxed, host, consoleOrigin }) };
    });
  }

  function open(access: AppReach, revision: number, file: FileVersion): Content {
    const { id } = access.app;
    return published.ofRead(id, file, async () => {
      const read = () => revisions.readFiles(db, access, revision, [file.path]);
      const [found] = await inShare(access, deps.shares, read);
      if (found === undefined) throw notFound('file_not_found');
      return found.content;
    });
  }

  /** Undefined if there is no such preview. */
  return async (label: string, client: string): Promise<Served<FileVersion> | undefined> => {
    const shown = await findShownTo(client, label);
    if (shown === undefined) return undefined;
    const { access, revision } = shown;
    const { app } = access;
    const { files, headers } = await known.get(app.id, String(revision), () => loadRevision(access, revision));
    const scriptUrl = `${new URL(deps.addresses.urlOf(label)).pathname}_plinth/${previewScriptName}`;
    return {
      headers: { ...headers, 'x-app-revision': revision },
      cacheControlOf: () => 'private, no-cache',
      async readPlatformFile(name) {
        if (name === previewScriptName) return pageScript;
        const file = platformFiles.get(name);
        return file?.({ id: app.id, signIn: await deps.readSignInOffer(db, app) });
      },
      resolve: (segments) => resolvePath(files, segments),
      async open({ path, file }) {
        const content = open(access, revision, file);
        if (!contentTypeOf(path).header.startsWith('text/html')) return content;
        const page = addScript(await readWhole(content), { scriptUrl, appId: app.id, consoleOrigin, revision });
        return published.ofBytes(page, app.id);
      },
    };
  };
}
