// Reads an app as its visitors see it, or would see it if its current files were published, on behalf of other
// features.
import type { AppReach } from '../../core/auth/proofs.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import type { Shares } from '../../kit/db/shares.ts';
import { orBusy } from '../../kit/http/request/turn.ts';
import type { Db } from '../../tables.ts';
import { createPreviewOpener, type OpenPreview } from './preview.ts';
import { allowOwnFiles, joinPolicies, sandboxPolicy } from './serve/app-headers.ts';
import { ContentLost, type Contents, readWhole } from './serve/contents.ts';
import type { PlatformFiles } from './serve/serve.ts';
import { type AppContents, addressFiles, inShare, mayBePublished, publishedFolders } from './snapshot.ts';
import { findSettings, getFiles } from './store.ts';

export interface Site {
  /** Null if the app is not published. `files` are then its current files. */
  readonly deploymentId: string | null;
  /** The app's files. Each path is an address in the app, such as `assets/app.js`. */
  readonly files: readonly { readonly path: string; readonly size: number }[];
  /** `undefined` if the file does not exist or the storage has lost it. */
  read(path: string): Promise<Buffer | undefined>;
  /** The path of the app's first page: `/` or `/p/shop/`. */
  readonly firstPage: string;
  /** Whether the app's pages have no origin of their own, and therefore no cookies and no storage. */
  readonly isSandboxed: boolean;
  /** The `Content-Security-Policy` from the app's settings. */
  readonly policy: string | undefined;
  /** Whether `policy` is still the current policy. */
  hasPresentPolicy(db: Db): Promise<boolean>;
  /** Returns the page that a visitor gets at a URL such as `firstPage`. */
  visit(url: string): Promise<SitePage | undefined>;
}

export interface SitePage {
  readonly content: Buffer;
  readonly contentType: string;
  /** The `Content-Security-Policy`, adapted for viewing the page on another host over http. */
  readonly policy: string | undefined;
}

export type OpenSite = (db: Db, access: AppReach) => Promise<Site>;

export interface SiteDeps {
  readonly contents: AppContents;
  readonly published: Contents;
  readonly platformFiles: PlatformFiles;
  readonly shares: Shares;
  readonly addresses: AppAddresses;
}

export const createSites = (deps: SiteDeps): OpenSite => {
  const openPreview = createPreviewOpener(deps.platformFiles);
  return (db, access) => orBusy(() => openSite(db, deps, access, openPreview));
};

async function openSite(db: Db, deps: SiteDeps, access: AppReach, openPreview: OpenPreview): Promise<Site> {
  const { app } = access;
  const { areSandboxed: isSandboxed, urlOf } = deps.addresses;
  const { hostname, pathname: firstPage } = new URL(urlOf(app.slug));
  const isLive = app.live_deployment_id !== null;
  const { files, read } = await (isLive ? readLive(db, deps, access) : readCurrent(db, deps, access));
  const readPolicy = async (db: Db) => (await findSettings(db, access))?.csp ?? undefined;
  const policy = await readPolicy(db);
  const visited = joinPolicies(isSandboxed ? sandboxPolicy : undefined, policy && allowOwnFiles(policy, hostname));
  // A preview expects file paths, but a live app has only addresses, so they are prefixed with a published folder.
  const find = openPreview(
    app,
    files.map(({ path }) => `${publishedFolders[0]}/${path}`),
  );
  return {
    deploymentId: app.live_deployment_id,
    files,
    read,
    firstPage,
    isSandboxed,
    policy,
    hasPresentPolicy: async (db) => (await readPolicy(db)) === policy,
    async visit(url) {
      const found = url.startsWith(firstPage) ? find(url.slice(firstPage.length - 1)) : undefined;
      if (found === undefined) return undefined;
      const content = 'content' in found ? found.content : await read(found.path.slice(publishedFolders[0].length + 1));
      return content && { content, contentType: found.contentType, policy: visited || undefined };
    },
  };
}

async function readLive(db: Db, { published, shares }: SiteDeps, access: AppReach) {
  const { app } = access;
  const manifest = await inShare(access, shares, () => getFiles(db, access, app.live_deployment_id));
  return {
    files: Object.entries(manifest).map(([path, { size }]) => ({ path, size })),
    async read(path: string): Promise<Buffer | undefined> {
      const file = Object.hasOwn(manifest, path) ? manifest[path] : undefined;
      if (file === undefined) return undefined;
      const content = published.ofFile(app.id, file);
      return orBusy(() => readWhole(content)).catch((error) => {
        if (error instanceof ContentLost) return undefined;
        throw error;
      });
    },
  };
}

async function readCurrent(db: Db, { contents, shares }: SiteDeps, access: AppReach) {
  const listed = await inShare(access, shares, () => contents.listFilesIn(db, access, publishedFolders));
  const files = addressFiles(listed.files).filter(({ address }) => mayBePublished(address));
  const paths = new Map(files.map(({ address, path }) => [address, path]));
  return {
    files: files.map(({ address, size }) => ({ path: address, size })),
    async read(address: string): Promise<Buffer | undefined> {
      const path = paths.get(address);
      if (path === undefined) return undefined;
      const [file] = await orBusy(() => inShare(access, shares, () => contents.readFiles(db, access, [path])));
      return file?.content;
    },
  };
}
