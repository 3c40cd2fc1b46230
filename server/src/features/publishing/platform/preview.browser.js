// Runs before everything else on a page of a preview. It signs in the user as whom the preview was created, and reports
// to the console, which shows the page in a frame: which revision the page is of, and what goes wrong in it.
//
//   { type: 'plinth.preview_loaded', revision: 9, path: '/tasks' }
//   { type: 'plinth.preview_error', revision: 9, message: 'x is not defined', source: '/app.js', line: 3, column: 5 }

(() => {
  const { app, console: consoleOrigin = '', revision } = document.currentScript?.dataset ?? {};
  takeSession();
  // Frames in the page are not reported, because the console takes messages from the page only.
  if (parent === self || parent !== top) return;

  const maxErrors = 50;
  let errors = 0;

  /** @param {string} type @param {object} details */
  const post = (type, details) =>
    parent.postMessage({ type, revision: Number(revision), ...details }, { targetOrigin: consoleOrigin });

  /** @param {{ message: unknown, source?: string, line?: number, column?: number }} error */
  function report({ message, source = '', line, column }) {
    errors += 1;
    if (errors > maxErrors) return;
    post('plinth.preview_error', {
      message: String(message).slice(0, 500),
      source: describeUrl(source),
      line: line || null,
      column: column || null,
    });
  }

  post('plinth.preview_loaded', { path: location.pathname });
  addEventListener(
    'error',
    ({ target, message, filename, lineno, colno }) => {
      if (target instanceof Element) reportMissing(target);
      else report({ message, source: filename, line: lineno, column: colno });
    },
    true, // files that can't be loaded are reported to their element only
  );
  addEventListener('unhandledrejection', ({ reason }) => {
    const [, source, line, column] = /(\w+:\/\/\S+?):(\d+):(\d+)/.exec(reason?.stack ?? '') ?? [];
    report({ message: reason?.message ?? reason, source, line: Number(line), column: Number(column) });
  });

  /** @param {Element} element */
  function reportMissing(element) {
    const address = element.getAttribute('src') ?? element.getAttribute('href');
    if (address === null) return;
    const source = new URL(address, document.baseURI).href;
    report({ message: `The file ${describeUrl(source)} could not be loaded.`, source });
  }

  /** The rest of an address may have tokens. @param {string} address */
  function describeUrl(address) {
    if (!URL.canParse(address)) return '';
    const { origin, pathname } = new URL(address);
    return origin === location.origin ? pathname : origin + pathname;
  }

  /** Stores the session in the address as the runtime client does, and removes it from there. */
  function takeSession() {
    const session = /^#plinth_session=([\w-]+)$/.exec(location.hash)?.[1];
    if (session === undefined) return;
    history.replaceState(history.state, '', location.pathname + location.search);
    const bytes = atob(session.replaceAll('-', '+').replaceAll('_', '/'));
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
    try {
      localStorage.setItem(`plinth ${app}`, text);
    } catch {
      // Some browsers give a frame of another site no storage. Then the session ends with the page.
      Reflect.set(window, 'plinth_session', JSON.parse(text));
    }
  }
})();
