// The console under `npm run dev -- --console`: stands before the API, and serves the console's modules from their
// sources, which browsers replace when a file is saved. The API still decides at which addresses the console is shown,
// and with which policy. Everything else is passed on, so there is one origin, as in production.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { createServer as createVite } from 'vite';

interface Place {
  readonly host: string;
  readonly port: number;
  /** The host that people open. Others are those of published apps. */
  readonly ownHost: string;
  readonly api: { readonly hostname: string; readonly port: number };
}

const place: Place = JSON.parse(process.argv[2] ?? '');
const placeholder = 'nonce-of-the-request';
const page = fileURLToPath(new URL('./index.html', import.meta.url));
const agent = new Agent({ keepAlive: true });

const server = createServer((request, response) => {
  const isModule = request.headers.host === place.ownHost && request.url?.startsWith('/console/');
  if (isModule) vite.middlewares(request, response);
  else passOn(request, response);
});
const vite = await createVite({
  configFile: fileURLToPath(new URL('./vite.config.ts', import.meta.url)),
  appType: 'custom',
  html: { cspNonce: placeholder },
  server: { middlewareMode: true, ws: { server }, allowedHosts: [new URL(`http://${place.ownHost}`).hostname] },
});
server.listen(place.port, place.host, () => process.send?.('listening'));
process.on('disconnect', () => process.exit());

/** Sends the request to the API, and its answer to the browser. */
function passOn(incoming: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = incoming;
  // The page would not be sent again if the browser has that of another start.
  if (isPageOpened(incoming)) delete headers['if-none-match'];
  const outgoing = request({ ...place.api, agent, method, path: url, headers }, (answer) => {
    const policy = String(answer.headers['content-security-policy']);
    // Only the console's page has this policy.
    if (policy.includes('trusted-types console-worker') && method === 'GET') {
      answer.resume();
      return void servePage(url ?? '/', policy, response);
    }
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(response);
  });
  outgoing.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  response.on('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
}

const isPageOpened = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.accept?.includes('text/html') === true && headers.host === place.ownHost;

/** Serves the page with modules. Their first scripts and styles are within the page, so the policy gets a nonce. */
async function servePage(url: string, policy: string, response: ServerResponse): Promise<void> {
  const nonce = randomBytes(18).toString('base64');
  const html = await vite.transformIndexHtml(url, readFileSync(page, 'utf8'));
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': policy.replaceAll(/(script-src|style-src) 'self'/g, `$& 'nonce-${nonce}'`),
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  });
  response.end(html.replaceAll(placeholder, nonce));
}
