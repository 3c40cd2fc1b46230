// The ways in which a page may try to reach an address on the machine that runs its browser, and the server that
// it must not reach.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** Additional files on the page's own origin. */
export const vectorFiles = (target: string): Record<string, string> => ({
  '/import-scripts.js': `importScripts('${target}/import-scripts');`,
  '/worker-fetch.js': `fetch('${target}/worker-fetch', { mode: 'no-cors' });`,
  '/module-worker.js': `import '${target}/module-worker';`,
  '/shared-worker.js': `fetch('${target}/shared-worker', { mode: 'no-cors' });`,
  '/service-worker.js': `fetch('${target}/service-worker', { mode: 'no-cors' });`,
});

/**
 * Scripts that run in a page. Each requests a path with its own name. `{target}` is the URL to reach, `{host}` its host
 * and port, and `{port}` its port.
 */
export const vectors: Record<string, string> = {
  fetch: `fetch('{target}/fetch')`,
  'fetch-no-cors': `fetch('{target}/fetch-no-cors', { mode: 'no-cors' })`,
  'fetch-post': `fetch('{target}/fetch-post', { method: 'POST', body: 'x', mode: 'no-cors' })`,
  xhr: `const x = new XMLHttpRequest(); x.open('GET', '{target}/xhr'); x.send()`,
  beacon: `navigator.sendBeacon('{target}/beacon', 'x')`,
  'event-source': `new EventSource('{target}/event-source')`,
  'web-socket': `new WebSocket('ws://{host}/web-socket')`,
  image: `add('img', { src: '{target}/image' })`,
  script: `add('script', { src: '{target}/script' })`,
  stylesheet: `add('link', { rel: 'stylesheet', href: '{target}/stylesheet' })`,
  background: `add('style', { textContent: 'body { background: url({target}/background) }' })`,
  font: `new FontFace('f', 'url({target}/font)').load()`,
  iframe: `add('iframe', { src: '{target}/iframe' })`,
  'iframe-location': `add('iframe', {}).contentWindow.location = '{target}/iframe-location'`,
  'iframe-refresh': `add('iframe', { srcdoc: '<meta http-equiv=refresh content="0;url={target}/iframe-refresh">' })`,
  'iframe-srcdoc': `add('iframe', { srcdoc: '<img src={target}/iframe-srcdoc>' })`,
  'iframe-data': `add('iframe', { src: 'data:text/html,<img src={target}/iframe-data>' })`,
  object: `add('object', { data: '{target}/object' })`,
  embed: `add('embed', { src: '{target}/embed' })`,
  video: `add('video', { src: '{target}/video', autoplay: true })`,
  preload: `add('link', { rel: 'preload', as: 'script', href: '{target}/preload' })`,
  prefetch: `add('link', { rel: 'prefetch', href: '{target}/prefetch' })`,
  'module-preload': `add('link', { rel: 'modulepreload', href: '{target}/module-preload' })`,
  import: `import('{target}/import')`,
  'import-scripts': `new Worker('/import-scripts.js')`,
  'worker-fetch': `new Worker('/worker-fetch.js')`,
  'module-worker': `new Worker('/module-worker.js', { type: 'module' })`,
  'shared-worker': `new SharedWorker('/shared-worker.js')`,
  'service-worker': `navigator.serviceWorker.register('/service-worker.js')`,
  form: `add('iframe', { name: 'i' }); add('form', { action: '{target}/form', target: 'i' }).submit()`,
  localhost: `add('img', { src: 'http://localhost:{port}/localhost' })`,
  'any-address': `add('img', { src: 'http://0.0.0.0:{port}/any-address' })`,
  'decimal-address': `add('img', { src: 'http://2130706433:{port}/decimal-address' })`,
  'mapped-address': `add('img', { src: 'http://[::ffff:127.0.0.1]:{port}/mapped-address' })`,
  stun: `const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:{host}' }] });
    c.createDataChannel('x'); c.createOffer().then((offer) => c.setLocalDescription(offer))`,
  turn: `const c = new RTCPeerConnection({ iceServers: [
      { urls: 'turn:{host}?transport=tcp', username: 'u', credential: 'c' }] });
    c.createDataChannel('x'); c.createOffer().then((offer) => c.setLocalDescription(offer))`,
};

export function renderVectors(target: string): string {
  const { host, port } = new URL(target);
  const scripts = Object.values(vectors).map((script) => {
    const text = script.replaceAll('{target}', target).replaceAll('{host}', host).replaceAll('{port}', port);
    return `try { (() => { ${text} })() } catch (error) { console.log(error) }`;
  });
  return `<!doctype html><title>Vectors</title><body><script>
    const add = (name, values) => document.body.appendChild(Object.assign(document.createElement(name), values));
    ${scripts.join('\n')}
  </script>`;
}

/** Starts a loopback server, over TCP and UDP, that records which vectors reached it. */
export async function startVictim() {
  const reached = new Set<string>();
  const sockets = new Set<Socket>();
  let [connections, datagrams] = [0, 0];
  const server = createServer((request, response) => {
    reached.add(request.url?.slice(1).split('?')[0] ?? '');
    response.setHeader('access-control-allow-origin', '*').end();
  });
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    // TURN is a binary protocol, so its first byte differs from HTTP's.
    socket.once('data', (bytes) => bytes[0] === 0 && reached.add('turn'));
  });
  server.on('upgrade', (request, socket) => {
    reached.add(request.url?.slice(1) ?? '');
    socket.destroy();
  });
  server.on('clientError', (_, socket) => socket.destroy());
  server.listen(0, '::');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const udp = createSocket('udp4').on('message', () => {
    datagrams += 1;
    reached.add('stun');
  });
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  return {
    url: `http://127.0.0.1:${port}`,
    reached,
    get connections() {
      return connections;
    },
    get datagrams() {
      return datagrams;
    },
    forget() {
      for (const socket of sockets) socket.destroy();
      reached.clear();
      [connections, datagrams] = [0, 0];
    },
    async close() {
      server.close();
      server.closeAllConnections();
      udp.close();
    },
  };
}
