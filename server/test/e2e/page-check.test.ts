// Tests the browser gateway with the machine's Chromium: the report on a page, the addresses that a page cannot reach,
// and cleaning up every browser process.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type Browser, openBrowser, type PageCheck } from '../../src/gateways/browser/index.ts';
import { startWorld } from '../support/world.ts';
import { renderVectors, startVictim, vectorFiles, vectors } from './page-vectors.ts';

const executable = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
/** What a run that was killed has left. */
const leftBefore = new Set(readdirSync(tmpdir()));
const failures: string[] = [];
const onFailure = (outcome: string, why: string) => void failures.push(`${outcome}: ${why}`);
const browser = openBrowser({ executable, noSandbox: false, onFailure });
afterAll(() => browser.close());
/** Shorter than the usual 20 seconds per page. */
const totalMs = 12_000;
const impatient = openBrowser({ executable, noSandbox: false, onFailure, totalMs });
afterEach(async () => {
  await expect.poll(listProcesses, { timeout: 10_000 }).toEqual([]); // less than `totalMs`
  await expect.poll(listProfiles).toEqual([]); // removed once the processes have ended
});

const types: Record<string, string> = { js: 'text/javascript', css: 'text/css', json: 'application/json' };
const serve =
  (files: Record<string, string>): PageCheck['files'] =>
  async (path) => {
    const content = files[path];
    const contentType = types[path.split('.')[1] ?? ''] ?? 'text/html; charset=utf-8';
    return content === undefined ? undefined : { content: Buffer.from(content), contentType };
  };

interface Check extends Partial<PageCheck> {
  readonly with?: Browser;
}
const check = (page: string | Record<string, string>, { with: used = browser, ...others }: Check = {}) =>
  used.checkPage({
    owner: 'w1',
    path: '/',
    signal: new AbortController().signal,
    files: serve(typeof page === 'string' ? { '/': page } : page),
    ...others,
  });

const clean = {
  outcome: 'loaded',
  console_errors: [],
  page_errors: [],
  failed_requests: [],
  refused_requests: 0,
  refused_hosts: [],
  watched_requests: 0,
  condition_met: false,
  refusal_errors: [],
  cut: false,
};
const endless = '<script>for (;;) {}</script>';
/** Makes a page wait without keeping a core busy, unlike an endless loop. */
const neverServe: PageCheck['files'] = () => new Promise(() => {});

describe('a report', () => {
  it('of a page without errors has none, its title and what it shows', async () => {
    const files = {
      '/': '<!doctype html><title>Tasks</title><link rel=stylesheet href=a.css><p>One</p><p hidden>Two</p><script type=module src=a.js></script>',
      '/a.css': 'p { color: red }',
      '/a.js':
        "import { three } from './b.js'; document.body.append(three, isSecureContext); localStorage.a = await (await fetch('/c%20d.json')).text();",
      '/b.js': "export const three = 'Three, ' + location.host + ', ';",
      '/c%20d.json': '{}',
    };
    expect(await check(files)).toEqual({ ...clean, title: 'Tasks', text: 'One\n\nThree, app.invalid, true' });
  });

  it('has errors of syntax, with their place', async () => {
    const report = await check({ '/': '<script src=a.js></script>', '/a.js': '\nlet a = ;' });
    expect(report).toMatchObject({ ...clean, page_errors: ["SyntaxError: Unexpected token ';' (/a.js:2:9)"] });
  });

  it('has what was thrown: at once, later, in a promise, in a frame, in a worker', async () => {
    const report = await check({
      '/': `<script>
        setTimeout(() => { throw new Error('later') }, 300);
        Promise.reject(new Error('promise'));
        new Worker('/worker.js');
        missing.call();
      </script><iframe src="/frame.html"></iframe>`,
      '/worker.js': "throw new Error('worker')",
      '/frame.html': "<script>throw 'a text'</script>",
    });
    if (report.outcome !== 'loaded') throw new Error(report.reason);
    expect(report.page_errors).toHaveLength(5);
    for (const text of [
      /^ReferenceError: missing is not defined \(\/:5:9\)\n {4}at \/:5:9$/,
      /^Error: later \(\/:2:34\)/,
      /^Error: promise/,
      /^Error: worker \(\/worker.js:1:7\)/,
      /^a text \(\/frame.html:1:/,
    ])
      expect(report.page_errors).toContainEqual(expect.stringMatching(text));
    expect(report).toMatchObject({ console_errors: [], failed_requests: [], refused_requests: 0 });
  });

  it('has what the page writes to the console as an error, and nothing else of it', async () => {
    const report = await check(`<script>
      console.log('no'); console.warn('no'); console.error('count', 3, { a: 1, b: [2] }, null, undefined, NaN);
      console.assert(1 > 2, 'assertion');
    </script>`);
    expect(report).toMatchObject({
      ...clean,
      console_errors: ['count 3 {a: 1, b: Array(1)} null undefined NaN', 'assertion'],
    });
  });

  it('names the files of its own that do not exist, and modules that are none', async () => {
    const report = await check({
      '/': '<img src=none.png?v=1><link rel=stylesheet href=/none.css><script type=module src=page.html></script><script>import("/none.js")</script>',
      '/page.html': 'x',
    });
    expect(report).toMatchObject({
      page_errors: [expect.stringMatching(/^TypeError: Failed to fetch dynamically imported module: \/none.js/)],
      console_errors: [expect.stringContaining('Expected a JavaScript-or-Wasm module script')],
      refused_requests: 0,
      refusal_errors: [],
    });
    const paths = report.outcome === 'loaded' ? report.failed_requests.map(({ url }) => url) : [];
    expect(paths.sort()).toEqual(['/none.css', '/none.js', '/none.png?v=1']);
    expect(await check({}, { path: '/nothing' })).toMatchObject({
      outcome: 'loaded',
      failed_requests: [{ url: '/nothing', reason: '404' }],
    });
  });

  it.each(['https://api.example.com', 'http://127.0.0.1:8080'])(
    'does not take a call of data at %s, which is refused, for an error of the page',
    async (api) => {
      const report = await check(`<p id=p></p><script type=module>
        fetch('${api}/api/apps/1/entities/Task');
        fetch('${api}/api/apps/1/me', { headers: { authorization: 'Bearer x' } })
          .catch((error) => { p.textContent = 'No data.'; console.error('Could not load', error); });
      </script>`);
      expect(report).toMatchObject({
        ...clean,
        text: 'No data.',
        refused_requests: 2,
        refused_hosts: [new URL(api).host],
        refusal_errors: expect.arrayContaining([
          expect.stringMatching(/^TypeError: Failed to fetch/),
          expect.stringMatching(/^Could not load TypeError: Failed to fetch/),
        ]),
      });
    },
  );

  it('still has the errors of the page beside refused calls', async () => {
    const report = await check(`<script>
      fetch('https://api.example.com/').catch(() => missing());
      new WebSocket('wss://api.example.com/');
    </script>`);
    expect(report).toMatchObject({
      console_errors: [],
      page_errors: [expect.stringMatching(/^ReferenceError: missing is not defined/)],
      refused_requests: 2,
    });
  });

  it('is bounded, and says so', async () => {
    const report = await check(`<title>${'t'.repeat(1_000)}</title><p>${'word '.repeat(5_000)}</p><script>
      for (let i = 0; i < 100; i++) { console.error(i, 'x'.repeat(10_000)); setTimeout(() => { throw new Error(i) }); }
      for (let i = 0; i < 100; i++) { new Image().src = '/none/' + i; new Image().src = 'https://h' + i + '.example.com/'; }
    </script>`);
    if (report.outcome !== 'loaded') throw new Error(report.reason);
    expect(report.cut).toBe(true);
    expect(report.title).toHaveLength(200);
    expect(report.text).toHaveLength(4_000);
    for (const list of [report.console_errors, report.page_errors, report.failed_requests])
      expect(list).toHaveLength(20);
    for (const text of report.console_errors) expect(text).toHaveLength(500);
    expect(report).toMatchObject({ refused_requests: 100 });
    expect(report.refused_hosts).toHaveLength(10);
  });

  it('is not held up by dialogs, windows, downloads, or a page that leaves', async () => {
    const report = await check({
      '/': `<script>
        alert('a'); const asked = [confirm('b'), prompt('c'), window.open('/other.html')];
        const a = document.createElement('a'); a.href = '/file.bin'; a.download = 'file.bin'; a.click();
        setTimeout(() => { location = '/next.html?' + asked }, 300)
      </script>`,
      '/next.html': '<p>Next</p><script>document.write(location.search)</script>',
      '/file.bin': 'x',
    });
    expect(report).toMatchObject({ ...clean, text: 'Next\n\n?false,,' });
  });

  it('is not given for an endless loop, which ends when its time is up', async () => {
    const startedAt = performance.now();
    expect(await check(endless, { with: impatient })).toEqual({ outcome: 'unavailable', reason: 'timeout' });
    expect(performance.now() - startedAt).toBeLessThan(totalMs + 30_000);
  });

  it('of a page that fills its memory is an error or a crash, and the process continues', async () => {
    const report = await check(
      '<script>const all = []; for (let i = 0; i < 200; i++) all.push(new Uint8Array(64 << 20).fill(1));</script>',
    );
    if (report.outcome === 'loaded')
      expect(report.page_errors).toEqual([expect.stringMatching(/^RangeError: Array buffer allocation failed/)]);
    else expect(report).toEqual({ outcome: 'unavailable', reason: 'crashed' });
  });

  it('of a page that says too much is a crash', async () => {
    failures.length = 0;
    const report = await check("<script>for (;;) console.error('x'.repeat(1 << 20))</script>");
    expect(report).toEqual({ outcome: 'unavailable', reason: 'crashed' });
    expect(failures).toEqual(['crashed: the page sent too much data']);
  });

  it('ends a page that asks for files in a loop', async () => {
    let served = 0;
    const files: PageCheck['files'] = async (path) => {
      served += 1;
      const content =
        path === '/' ? '<script>(async () => { for (;;) await fetch("/a.json").catch(() => {}) })()</script>' : '{}';
      return { content: Buffer.from(content), contentType: path === '/' ? 'text/html' : 'application/json' };
    };
    await check({}, { files });
    expect(served).toBeLessThanOrEqual(1_000);
  });
});

describe('a page', () => {
  it('reaches no address of the machine, whichever way it tries', async () => {
    const victim = await startVictim();
    const files = { ...vectorFiles(victim.url), '/': renderVectors(victim.url) };
    // A browser without our proxy loads the same page first, because a vector that does not work there would prove
    // nothing.
    const mustBeEffective = Object.keys(vectors).filter((name) => name !== 'prefetch');
    await visitUnprotected(serve(files), () =>
      expect.poll(() => mustBeEffective.filter((name) => !victim.reached.has(name))).toEqual([]),
    );
    victim.forget();
    const report = await check(files);
    await wait(1_000);
    expect([victim.connections, victim.datagrams, [...victim.reached]]).toEqual([0, 0, []]);
    expect(report).toMatchObject({ outcome: 'loaded', title: 'Vectors' });
    expect(report.outcome === 'loaded' && report.refused_requests).toBeGreaterThan(25);
    await victim.close();
  });

  it('that goes elsewhere arrives nowhere', async () => {
    const victim = await startVictim();
    for (const script of [
      `location = '${victim.url}/'`,
      `location = 'file:///etc/passwd'`,
      `location = 'chrome://version'`,
    ]) {
      const report = await check(`<p>Here</p><script>setTimeout(() => { ${script} }, 200)</script>`);
      expect(report).toMatchObject({
        outcome: 'loaded',
        text: expect.stringMatching(/^(Here$|Access to 127.0.0.1 was denied)/),
      });
    }
    expect(victim.connections).toBe(0);
    await victim.close();
  });

  it('runs in a sandbox, without privileges and without our environment', async () => {
    process.env.SECRET_OF_THE_TEST = 'kept';
    let seen: Process[] = [];
    const files: PageCheck['files'] = async () => {
      await wait(500);
      seen = await listProcesses();
      return { content: Buffer.from(''), contentType: 'text/html' };
    };
    await check({}, { files });
    delete process.env.SECRET_OF_THE_TEST;
    expect(seen.length).toBeGreaterThan(3);
    for (const { pid, environment } of seen) {
      expect(environment, `process ${pid}`).not.toContain('kept');
      expect(environment).not.toContain('DATABASE_URL');
    }
    if (process.getuid?.() === 0) for (const { user } of seen) expect(user).toBe('65534');
    const renderers = seen.filter(({ command }) => command.includes('--type=renderer'));
    expect(renderers.length).toBeGreaterThan(0);
    for (const { seccomp } of renderers) expect(seccomp).toBe('2');
    const commands = seen.map(({ command }) => command).join();
    expect(commands).not.toContain('--no-sandbox');
    // Rendering the browser's own window would use as much CPU time as the rest of the start.
    expect(commands).not.toContain('--top-chrome-webui');
  });
});

it('an installation says that it has a browser', async () => {
  const world = await startWorld({ environment: { BROWSER_EXECUTABLE: executable } });
  expect((await world.call('GET', '/api/info')).body.features).toMatchObject({ browser: true });
});

describe('checks', () => {
  it('run two at a time, one per owner; others wait, and are then told that it is busy', async () => {
    const abort = new AbortController();
    const holding = ['w1', 'w2'].map((owner) => check({}, { owner, signal: abort.signal, files: neverServe }));
    await expect.poll(async () => (await listProcesses()).length).toBeGreaterThan(6);
    const startedAt = performance.now();
    const refused = await Promise.all([check('', { owner: 'w3' }), check('', { owner: 'w1' })]);
    expect(refused).toEqual([
      { outcome: 'unavailable', reason: 'busy' },
      { outcome: 'unavailable', reason: 'busy' },
    ]);
    expect(performance.now() - startedAt).toBeLessThan(18_000); // less than the checks under way may take
    const waiting = check('<p>My turn</p>', { owner: 'w4' });
    abort.abort();
    expect(await Promise.all(holding)).toEqual([
      { outcome: 'unavailable', reason: 'cancelled' },
      { outcome: 'unavailable', reason: 'cancelled' },
    ]);
    expect(await waiting).toMatchObject({ outcome: 'loaded', text: 'My turn' });
  });

  it('throw the error of what serves the files', async () => {
    const error = new Error('no database');
    await expect(check({}, { files: () => Promise.reject(error) })).rejects.toBe(error);
  });

  it('end when the browser is closed', async () => {
    const closed = openBrowser({ executable, noSandbox: false, onFailure });
    const report = check(endless, { with: closed });
    await expect.poll(async () => (await listProcesses()).length).toBeGreaterThan(3);
    await closed.close();
    expect(await report).toEqual({ outcome: 'unavailable', reason: 'cancelled' });
  });

  it('leave no process if ours is killed, and the next check removes what the browser stored', async () => {
    const program = join(mkdtempSync(join(tmpdir(), 'plinth-test-')), 'killed.ts');
    const gateway = fileURLToPath(new URL('../../src/gateways/browser/index.ts', import.meta.url));
    writeFileSync(
      program,
      `import { openBrowser } from ${JSON.stringify(gateway)};
      const browser = openBrowser({ executable: ${JSON.stringify(executable)}, noSandbox: false, onFailure: console.error });
      const content = Buffer.from(${JSON.stringify(endless)});
      const files = async () => { process.send('serving'); return { content, contentType: 'text/html' }; };
      await browser.checkPage({ owner: '', path: '/', signal: new AbortController().signal, files });`,
    );
    const child = fork(program, { execArgv: [] });
    await once(child, 'message');
    await wait(500);
    expect((await listProcesses()).length).toBeGreaterThan(3);
    child.kill('SIGKILL');
    await expect.poll(listProcesses).toEqual([]);
    const hoursAgo = Date.now() / 1000 - 2 * 60 * 60;
    for (const profile of listProfiles()) utimesSync(profile, hoursAgo, hoursAgo);
    await check('');
  });

  it('say that the browser did not start, and why', async () => {
    for (const [program, why] of [
      ['/nonexistent/chromium', 'No such file'],
      ['/bin/false', 'exited (1)'],
    ] as const) {
      failures.length = 0;
      const broken = openBrowser({ executable: program, noSandbox: false, onFailure });
      expect(await check('', { with: broken })).toEqual({ outcome: 'unavailable', reason: 'not_started' });
      expect(failures).toEqual([expect.stringMatching(/^not_started: /)]);
      expect(failures[0]?.toLowerCase()).toContain(why.toLowerCase());
    }
  });

  it('run without the sandbox only if the operator says so', async () => {
    const unsafe = openBrowser({ executable, noSandbox: true, onFailure });
    let commands = '';
    const files: PageCheck['files'] = async () => {
      commands = (await listProcesses()).map(({ command }) => command).join();
      return { content: Buffer.from('<p>Seen</p>'), contentType: 'text/html' };
    };
    expect(await check({}, { files, with: unsafe })).toMatchObject({ outcome: 'loaded', text: 'Seen' });
    expect(commands).toContain('--no-sandbox');
  });

  it('say that no browser is configured', async () => {
    const none = openBrowser({ executable: undefined, noSandbox: false, onFailure });
    expect(none.configured).toBe(false);
    expect(await check('', { with: none })).toEqual({ outcome: 'unavailable', reason: 'not_configured' });
    expect(browser.configured).toBe(true);
  });
});

async function visitUnprotected(files: PageCheck['files'], waitForEffects: () => Promise<void>): Promise<void> {
  const server = createServer(async (request, response) => {
    const file = await files(request.url ?? '');
    if (file === undefined) response.statusCode = 404;
    else response.setHeader('content-type', file.contentType);
    response.end(file?.content);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const opened = await chromium.launch({ executablePath: executable, args: ['--no-sandbox', '--disable-gpu'] });
  const page = await opened.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await waitForEffects();
  await opened.close();
  server.close();
  server.closeAllConnections();
}

interface Process {
  readonly pid: string;
  readonly group: string;
  readonly command: string;
  readonly environment: string;
  readonly user: string | undefined;
  readonly seccomp: string | undefined;
}

/** Our browsers' process groups. Remembered, because processes that display pages overwrite their environment. */
const groups = new Set<string>();

/** Our browsers' processes, except zombies, which only wait for their parent to read their exit status. */
async function listProcesses(): Promise<Process[]> {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const found = all.flatMap((pid) => {
    try {
      const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8');
      const [environment, status, command] = [read('environ'), read('status'), read('cmdline').replaceAll('\0', ' ')];
      const [state, , group = ''] = read('stat')
        .replace(/^.*\) /s, '')
        .split(' ');
      if (state === 'Z') return [];
      if (environment.includes('/plinth-browser-')) groups.add(group);
      const [user, seccomp] = [/^Uid:\t(\d+)/m, /^Seccomp:\t(\d)/m].map((field) => field.exec(status)?.[1]);
      return [{ pid, group, command, environment, user, seccomp }];
    } catch {
      return []; // the process has just exited, or belongs to another user
    }
  });
  return found.filter(({ group }) => groups.has(group));
}

const listProfiles = (): string[] =>
  readdirSync(tmpdir())
    .filter((name) => name.startsWith('plinth-browser-') && !leftBefore.has(name))
    .map((name) => join(tmpdir(), name));
