// Serves published apps. It runs alongside the API's operations, none of which can be reached on an app's host.
// Cookies are neither set nor read.
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FailedLookups } from '../../../core/auth/request/failed-lookups.ts';
import { GateClosed } from '../../../kit/fair-gate.ts';
import { createAddressReader, nameClient } from '../../../kit/http/connection/client-address.ts';
import { pageHeaders, renderNotice } from '../../../kit/http/page/page.ts';
import { hasUnreadBody } from '../../../kit/http/request/receive.ts';
import { type Header, listSecurityHeaders } from '../../../kit/http/response/security-headers.ts';
import type { OtherRequests } from '../../../kit/http/server.ts';
import { Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { platformFolder } from '../snapshot.ts';
import { type AppTarget, createTargetFinder } from './address.ts';
import { joinPolicies, sandboxPolicy, toOwnHeaders, toSandboxedHeaders } from './app-headers.ts';
import { cacheControlOf } from './cache-control.ts';
import { contentTypeOf } from './content-types.ts';
import type { Content, Contents } from './contents.ts';
import { createLiveApps, type LiveApp, type LiveAppDeps, type SignInOffer } from './live-apps.ts';
import { createManifests } from './manifests.ts';
import { parsePath } from './path.ts';
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
  onError(error: unknown, requestId: string): void;
}

/** A request, and the headers for every response to it. */
interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly headers: OutgoingHttpHeaders;
}

export function createAppServer(deps: ServeDeps): OtherRequests<AppTarget> {
  const { db, published, failedLookups, appsDomain, platformFiles } = deps;
  const always = listConstantHeaders(deps);
  const readAddress = createAddressReader(deps.trustedProxies);
  const liveApps = createLiveApps({
    db,
    readSignInOffer: deps.readSignInOffer,
    toHeaders: appsDomain === undefined ? toSandboxedHeaders : toOwnHeaders,
    findRefusal: (client) => failedLookups.findRefusal('apps', client),
    // A failure to count must not fail the request.
    onUnknown: (client) => void failedLookups.count('apps', client).catch(() => {}),
  });
  const manifests = createManifests(db);

  async function answer({ slug, target }: AppTarget, visit: Visit): Promise<void> {
    const { request } = visit;
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(visit, 405, { allow: 'GET, HEAD' });
    if (slug === undefined) return refuse(visit, 404);
    const found = liveApps.find(slug, () => nameClient(readAddress(request)));
    const app = found instanceof Promise ? await found : found;
    if (app === undefined) return refuse(visit, 404);
    const headers = { ...visit.headers, ...app.headers, 'x-app-revision': app.revision };
    return answerFor(app, target, { ...visit, headers });
  }

  async function answerFor(app: LiveApp, target: string, visit: Visit): Promise<void> {
    const [path = ''] = target.split('?', 1);
    const segments = parsePath(path);
    if (path === '') return addSlash(visit);
    if (segments === undefined) return refuse(visit, 404);
    if (segments[0] === platformFolder) {
      const name = segments.slice(1).join('/');
      const bytes = platformFiles.get(name)?.(app);
      return bytes === undefined ? refuse(visit, 404) : send(visit, name, published.ofBytes(bytes));
    }
    const file = manifests.resolve(app, segments);
    const resolved = file instanceof Promise ? await file : file;
    if (resolved === 'add slash') return addSlash(visit);
    if (resolved === undefined) return refuse(visit, 404);
    return send(visit, resolved.path, published.ofFile(app.id, resolved.file));
  }

  return {
    operation: 'servePublishedFile',
    match: createTargetFinder(appsDomain),
    async answer(target, request, response, requestId) {
      if (hasUnreadBody(request)) response.shouldKeepAlive = false; // the body is never read
      const visit = { request, response, headers: { ...always, 'x-request-id': requestId } };
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

const send = ({ request, response, headers }: Visit, path: string, content: Content): Promise<void> =>
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

const notices: Readonly<Record<number, readonly [title: string, text: string]>> = {
  404: ['Page not found', 'There is no page at this address. Check the link that you followed.'],
  405: ['Method not allowed', 'Published pages accept only GET and HEAD requests.'],
  429: [
    'Too many requests',
    "Too many requests from your address were for pages that don't exist. Try again in a minute.",
  ],
  503: ['Temporarily unavailable', 'The page could not be loaded. Try again in a moment.'],
};

function refuse({ request, response, headers }: Visit, status: number, more: OutgoingHttpHeaders = {}): void {
  const [title = '', text = ''] = notices[status] ?? notices[503] ?? [];
  const all = { ...headers, ...more, 'cache-control': 'no-store' };
  if (!request.headers.accept?.includes('text/html')) {
    const plain = { ...all, 'content-type': 'text/plain; charset=utf-8' };
    end(request, response, status, plain, Buffer.from(`${title}\n`));
    return;
  }
  const page = renderNotice(title, text);
  const { 'content-security-policy': policy, ...others } = pageHeaders(page);
  const described = {
    ...all,
    ...others,
    'content-security-policy': joinPolicies(headers['content-security-policy'], policy),
    'content-type': 'text/html; charset=utf-8',
  };
  end(request, response, status, described, Buffer.from(page.html));
}
