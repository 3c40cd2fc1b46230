// Serves published apps. It runs alongside the API's operations, none of which can be reached on an app's host.
// Cookies are neither set nor read.
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isPreviewLabel } from '../../../core/auth/previews.ts';
import type { FailedLookups } from '../../../core/auth/request/failed-lookups.ts';
import { GateClosed } from '../../../kit/fair-gate.ts';
import { createAddressReader, nameClient } from '../../../kit/http/connection/client-address.ts';
import { pageHeaders, renderNotice } from '../../../kit/http/page/page.ts';
import { discardBody, hasUnreadBody } from '../../../kit/http/request/receive.ts';
import { type Header, listSecurityHeaders } from '../../../kit/http/response/security-headers.ts';
import type { OtherRequests } from '../../../kit/http/server.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import type { PublishedFile } from '../contract.ts';
import { platformFolder } from '../snapshot.ts';
import { type AppTarget, createTargetFinder } from './address.ts';
import {
  joinPolicies,
  sandboxPolicy,
  toOwnHeaders,
  toPreviewHeaders,
  toSandboxedHeaders,
  withoutFrameAncestors,
} from './app-headers.ts';
import { cacheControlOf } from './cache-control.ts';
import { contentTypeOf } from './content-types.ts';
import type { Content, Contents } from './contents.ts';
import { countUnknown, createLiveApps, type LiveApp, type LiveAppDeps, type SignInOffer } from './live-apps.ts';
import { createManifests } from './manifests.ts';
import { parsePath, type Resolved } from './path.ts';
import { end, respondWithFile } from './respond.ts';

/**
 * Platform files on app hosts, keyed by name below `/_plinth/`, such as `client.js`. The extension determines the
 * content type.
 */
export type PlatformFiles = ReadonlyMap<string, (app: PlatformApp) => Buffer>;

export interface PlatformApp {
  readonly id: string;
  readonly signIn: SignInOffer;
}

/** What a host serves: a published app, or a preview. */
export interface Served<File> {
  /** The headers of every response. */
  readonly headers: OutgoingHttpHeaders;
  cacheControlOf(path: string): string;
  readPlatformFile(name: string): Buffer | undefined | Promise<Buffer | undefined>;
  resolve(segments: readonly string[]): Resolved<File> | Promise<Resolved<File>>;
  open(found: { readonly path: string; readonly file: File }): Content | Promise<Content>;
}

export interface ServeDeps {
  readonly db: Db;
  /** The contents of published files. */
  readonly published: Contents;
  readonly failedLookups: FailedLookups;
  /** If undefined, apps are served below /p/. */
  readonly appsDomain: string | undefined;
  readonly isHttps: boolean;
  readonly trustedProxies: readonly string[];
  readonly platformFiles: PlatformFiles;
  readonly readSignInOffer: LiveAppDeps['readSignInOffer'];
  /** The origin of the page that shows previews in frames. */
  readonly consoleOrigin: string;
  /** Finds what a preview's host serves. Undefined if there is no such preview. */
  findPreview(label: string, client: string): Promise<Served<unknown> | undefined>;
  /** Called when an app or a preview was found at the host with this label. */
  onFound(label: string): void;
  onError(error: unknown, requestId: string): void;
}

/** A request, and the headers for every response to it. */
interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly headers: OutgoingHttpHeaders;
  readonly isPreview: boolean;
}

export function createAppServer(deps: ServeDeps): OtherRequests<AppTarget> {
  const { db, published, failedLookups, appsDomain, platformFiles } = deps;
  const always = listConstantHeaders(deps);
  const readAddress = createAddressReader(deps.trustedProxies);
  const liveApps = createLiveApps({
    db,
    readSignInOffer: deps.readSignInOffer,
    toHeaders: appsDomain === undefined ? toSandboxedHeaders : toOwnHeaders,
    ...countUnknown(failedLookups),
  });
  const manifests = createManifests(db);
  const isSandboxed = appsDomain === undefined;
  const ofPreviews = toPreviewHeaders({}, { isSandboxed, host: '', consoleOrigin: deps.consoleOrigin });

  async function answer({ slug, target }: AppTarget, visit: Visit): Promise<void> {
    const { request } = visit;
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(visit, 405, { allow: 'GET, HEAD' });
    if (slug === undefined) return refuse(visit, 404, {}, noApp);
    const client = () => nameClient(readAddress(request));
    if (isPreviewLabel(slug)) {
      const preview = await deps.findPreview(slug, client());
      if (preview === undefined) return refuse(visit, 404, {}, noPreview);
      deps.onFound(slug);
      return answerFrom(preview, target, visit);
    }
    const found = liveApps.find(slug, client);
    const app = found instanceof Promise ? await found : found;
    if (app === undefined) return refuse(visit, 404, {}, noApp);
    deps.onFound(slug);
    return answerFrom(toServed(app), target, visit);
  }

  const toServed = (app: LiveApp): Served<PublishedFile> => ({
    headers: { ...app.headers, 'x-app-revision': app.revision },
    cacheControlOf,
    readPlatformFile: (name) => platformFiles.get(name)?.(app),
    resolve: (segments) => manifests.resolve(app, segments),
    open: ({ file }) => published.ofFile(app.id, file),
  });

  async function answerFrom<File>(served: Served<File>, target: string, { headers, ...rest }: Visit): Promise<void> {
    const visit = { ...rest, headers: { ...headers, ...served.headers } };
    const [path = ''] = target.split('?', 1);
    const segments = parsePath(path);
    if (path === '') return addSlash(visit);
    if (segments === undefined) return refuse(visit, 404);
    if (segments[0] === platformFolder) {
      const name = segments.slice(1).join('/');
      const bytes = await served.readPlatformFile(name);
      return bytes === undefined ? refuse(visit, 404) : send(visit, served, name, published.ofBytes(bytes));
    }
    const file = served.resolve(segments);
    const resolved = file instanceof Promise ? await file : file;
    if (resolved === 'add slash') return addSlash(visit);
    if (resolved === undefined) return refuse(visit, 404);
    const content = served.open(resolved);
    return send(visit, served, resolved.path, content instanceof Promise ? await content : content);
  }

  return {
    operation: 'servePublishedFile',
    match: createTargetFinder(appsDomain),
    async answer(target, request, response, requestId) {
      if (hasUnreadBody(request) && !(await discardBody(request))) response.shouldKeepAlive = false;
      const isPreview = target.slug !== undefined && isPreviewLabel(target.slug);
      const headers = { ...always, ...(isPreview && ofPreviews), 'x-request-id': requestId };
      const visit = { request, response, headers, isPreview };
      await answer(target, visit).catch((error) => {
        if (!(error instanceof GateClosed || error instanceof Problem)) deps.onError(error, requestId);
        if (response.headersSent) throw error;
        if (error instanceof Problem) refuse(visit, error.status, error.headers);
        else refuse(visit, 503, { 'retry-after': '1' });
      });
    },
  };
}

/**
 * On the API's host, the API's security headers apply. On its own host, an app is isolated from other apps on the same
 * domain.
 */
function listConstantHeaders({ appsDomain, isHttps }: ServeDeps): OutgoingHttpHeaders {
  const toEntry = ({ name, value }: Header): [string, string] => [name, value];
  return appsDomain === undefined
    ? { ...Object.fromEntries(listSecurityHeaders(isHttps).map(toEntry)), 'content-security-policy': sandboxPolicy }
    : { ...Object.fromEntries(listSecurityHeaders(false).map(toEntry)), 'origin-agent-cluster': '?1' };
}

const send = (
  { request, response, headers }: Visit,
  { cacheControlOf }: Pick<Served<unknown>, 'cacheControlOf'>,
  path: string,
  content: Content,
): Promise<void> =>
  respondWithFile(request, response, {
    content,
    type: contentTypeOf(path),
    cacheControl: cacheControlOf(path),
    headers,
  });

/** Redirects to a relative address, because a proxy may have added a prefix to the path. */
function addSlash({ request, response, headers }: Visit): void {
  const { url = '' } = request;
  const endOfPath = url.includes('?') ? url.indexOf('?') : url.length;
  const location = `./${url.slice(url.lastIndexOf('/', endOfPath - 1) + 1, endOfPath)}/${url.slice(endOfPath)}`;
  end(request, response, 307, { ...headers, 'cache-control': 'no-cache', location });
}

type Notice = readonly [title: string, text: string];

/** Says the same of an app that does not exist and of one that is not published. */
const noApp: Notice = [
  'There is no app at this address',
  'It was never published, or has been taken down, or the address has a typing mistake. Ask whoever gave you the address.',
];
const noPreview: Notice = ['This preview has ended', 'Open the app in the console again to see it.'];

const notices: Readonly<Record<number, Notice>> = {
  404: ['Page not found', 'There is no page at this address. Check the link that you followed.'],
  405: ['Method not allowed', 'Published pages accept only GET and HEAD requests.'],
  429: [
    'Too many requests',
    "Too many requests from your address were for pages that don't exist. Try again in a minute.",
  ],
};
const unavailable: Notice = ['Temporarily unavailable', 'The page could not be loaded. Try again in a moment.'];

function refuse(
  { request, response, headers, isPreview }: Visit,
  status: number,
  more: OutgoingHttpHeaders = {},
  notice: Notice = notices[status] ?? unavailable,
): void {
  const [title, text] = notice;
  const all = { ...headers, ...more, 'cache-control': 'no-store' };
  if (!request.headers.accept?.includes('text/html')) {
    const plain = { ...all, 'content-type': 'text/plain; charset=utf-8' };
    end(request, response, status, plain, Buffer.from(`${title}\n`));
    return;
  }
  const page = renderNotice(title, text);
  const { 'content-security-policy': ownPolicy = '', ...others } = pageHeaders(page);
  const policy = isPreview ? withoutFrameAncestors(ownPolicy) : ownPolicy;
  const described = {
    ...all,
    ...others,
    'content-security-policy': joinPolicies(headers['content-security-policy'], policy),
    'content-type': 'text/html; charset=utf-8',
  };
  end(request, response, status, described, Buffer.from(page.html));
}
