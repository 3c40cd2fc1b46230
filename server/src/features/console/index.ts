// Entry point for the console, the web interface: serves its built files, and its page at every address that it shows
// (docs/api/installation.md#console).
import type { AppAddresses } from '../../core/identity/app-addresses.ts';
import type { Answer } from '../../kit/http/answer.ts';
import { answerWithFile, type RequestHeaders, readBuiltFiles } from './files.ts';
import { consoleRoutes } from './routes.ts';

interface Deps {
  /** The folder of the built console. Undefined if this process does not serve it. */
  readonly consoleFolder: string | undefined;
  readonly addresses: AppAddresses;
}

export function webConsole({ consoleFolder, addresses }: Deps) {
  const files = consoleFolder === undefined ? undefined : readBuiltFiles(consoleFolder);
  const index = files?.get('index.html');
  const headers = pageHeaders(addresses);
  const answerWithPage = index && ((sent: RequestHeaders): Answer<Buffer> => answerWithFile(index, sent, headers));
  return {
    routes: consoleRoutes(files ?? new Map(), answerWithPage),
    /** Responds with the console's page. Undefined if the console is not built. */
    answerWithPage,
  };
}

/**
 * The page is the same for everybody, so it needs no nonce. It shows previews of apps in frames, which are on hosts of
 * their own, or sandboxed on this one if apps have no domain.
 */
const pageHeaders = (addresses: AppAddresses): Readonly<Record<string, string>> => ({
  'cache-control': 'no-cache',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "style-src-attr 'none'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "worker-src 'self'",
    `frame-src ${addresses.areSandboxed ? "'self'" : new URL(addresses.urlOf('*')).origin}`,
    "form-action 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types console-worker',
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
});
