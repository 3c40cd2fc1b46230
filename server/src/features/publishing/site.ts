// Owns reading what visitors of an app get, or would get if its current files were published, for features that check it.
import type { AppReach } from '../../core/auth/proofs.ts';
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import type { Shares } from '../../kit/db/shares.ts';
import { orBusy } from '../../kit/http/turn.ts';
import type { Db } from '../../tables.ts';
import { createPreview, type OpenPreview } from './preview.ts';
import { joinPolicies, sandboxPolicy } from './serve/app-headers.ts';
import { ContentLost, type Contents, pieceBytes } from './serve/contents.ts';
import type { PlatformFiles } from './serve/serve.ts';
import { type AppContents, addressFiles, inShare, mayBePublished, publishedFolders } from './snapshot.ts';
import { findSettings, getFiles } from './store.ts';

export interface Site {
  /** Null: the app is not published, and these are its current files. */
  readonly deploymentId: string | null;
  /** By their addresses in the app, such as `assets/app.js`. */
  readonly files: readonly { readonly path: string; readonly size: number }[];
  /** Undefined if there is no such file, or if the storage has lost it. */
  read(path: string): Promise<Buffer | undefined>;
  /** Where visitors find its first page: `/`, or `/p/shop/`. */
  readonly firstPage: string;
  /** Its pages have no origin of their own: no cookies, and no storage. */
  readonly isSandboxed: boolean;
  /** The `Content-Security-Policy` of the app's settings. */
  readonly policy: string | undefined;
  /** Whether the settings still have this policy. */
  hasPresentPolicy(db: Db): Promise<boolean>;
  /** What a visitor gets at an address such as that of the first page. */
  visit(url: string): Promise<SitePage | undefined>;
}

export interface SitePage {
  readonly content: Buffer;
  readonly contentType: string;
  /** The `Content-Security-Policy`, for a page that is looked at on another host, by http. */
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
  const openPreview = createPreview(deps.platformFiles);
  return (db, access) => orBusy(() => openSite(db, access, deps, openPreview));
};

async function openSite(db: Db, access: AppReach, deps: SiteDeps, openPreview: OpenPreview): Promise<Site> {
  const { app } = access;
  const { areSandboxed: isSandboxed, urlOf } = deps.addresses;
  const { hostname, pathname: firstPage } = new URL(urlOf(app.slug));
  const isLive = app.live_deployment_id !== null;
  const { files, read } = await (isLive ? readLive(db, access, deps) : readCurrent(db, access, deps));
  const readPolicy = async (db: Db) => (await findSettings(db, access))?.csp ?? undefined;
  const policy = await readPolicy(db);
  const visited = joinPolicies(isSandboxed ? sandboxPolicy : undefined, policy && allowOwnFiles(policy, hostname));
  // A preview begins with paths of files. What is live has only addresses, and the name of their folder makes no difference.
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

/** What allows the app's own host by name, or all of https, allows the files of a page that is looked at elsewhere. */
export function allowOwnFiles(policy: string, hostname: string): string {
  const isOwn = (host: string) => host === hostname || (host.startsWith('*.') && hostname.endsWith(host.slice(1)));
  const rename = (source: string): string => {
    if (source.toLowerCase() === 'https:') return "https: 'self'";
    const host = /^(?:https?:\/\/)?([^/:']+)(?::[\d*]+)?(?:\/.*)?$/i.exec(source)?.[1]?.toLowerCase();
    return host !== undefined && isOwn(host) ? "'self'" : source;
  };
  return policy.replaceAll(/[^\s;,]+/g, rename);
}

async function readLive(db: Db, access: AppReach, { published, shares }: SiteDeps) {
  const { app } = access;
  const manifest = await inShare(access, shares, () => getFiles(db, access, app.live_deployment_id));
  return {
    files: Object.entries(manifest).map(([path, { size }]) => ({ path, size })),
    async read(path: string): Promise<Buffer | undefined> {
      const file = Object.hasOwn(manifest, path) ? manifest[path] : undefined;
      if (file === undefined) return undefined;
      const content = published.ofFile(app.id, file);
      const count = Math.ceil(file.size / pieceBytes);
      const reading = orBusy(async () => {
        const pieces: Buffer[] = [];
        for (let index = 0; index < count; index += 1) pieces.push(await content.readPiece(index));
        return Buffer.concat(pieces);
      });
      return reading.catch((error) => {
        if (error instanceof ContentLost) return undefined;
        throw error;
      });
    },
  };
}

async function readCurrent(db: Db, access: AppReach, { contents, shares }: SiteDeps) {
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
