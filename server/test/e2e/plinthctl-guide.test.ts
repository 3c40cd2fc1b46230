// Runs docs/guides/plinthctl.md as a reader would: every command in a shell or a terminal, against the processes that
// `npm run dev` starts. The reader approves the login in a browser meanwhile. What the guide says about its commands is
// compared with docs/guides/first-hour.md.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { readSteps, type Step } from '../support/guide.ts';
import { repository, startDevelopment } from './dev.ts';

const read = async (name: string) => readSteps(await readFile(join(repository, 'docs/guides', name), 'utf8'));
const text = await readFile(join(repository, 'docs/guides/plinthctl.md'), 'utf8');
const steps = readSteps(text);
const { banner, newGuide, baseUrl } = await startDevelopment();
const guide = newGuide();

/** Signs in as the demo's owner, who sets a password with the link that `npm run dev` prints. */
async function signIn(): Promise<string> {
  const [, reset_token] = /reset-password#(\S+)/.exec(banner) ?? [];
  const headers = { Origin: baseUrl };
  const password = 'a password for the demo';
  const set = await call(baseUrl, 'POST', '/api/auth/password/reset', {
    headers,
    body: { reset_token, new_password: password },
  });
  expect(set.status, set.text).toBe(200);
  const body = { email: 'demo@example.com', password };
  const signedIn = await call(baseUrl, 'POST', '/api/auth/sign-in', { headers, body });
  expect(signedIn.status, signedIn.text).toBe(200);
  return String(signedIn.headers['set-cookie']).split(';', 1).join();
}

/** What the page /device does once the person has typed the code. */
async function approve(code: string): Promise<void> {
  const headers = { Origin: baseUrl, Cookie: await signIn() };
  const approved = await call(baseUrl, 'POST', `/api/auth/device/${code}/answer`, { headers, body: { approve: true } });
  expect(approved.status, approved.text).toBe(200);
}

describe('docs/guides/plinthctl.md', () => {
  it('begins with a login that a person approves in a browser', async () => {
    const [login] = steps;
    if (login === undefined) throw new Error('the guide has no command');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let shown = '';
    guide.onShown = (text) => {
      const [, code] = /type the code (\S+)\s/.exec(shown) ?? [];
      shown += text;
      const [, found] = /type the code (\S+)\s/.exec(shown) ?? [];
      if (code === undefined && found !== undefined) approve(found).then(resolve, reject);
    };
    await Promise.all([guide.run(login), promise]);
  });

  it.each(steps.slice(1))('line $line: the command prints what the guide says', (step) => guide.run(step));
});

describe('the commands of the guide', () => {
  it('contain no header, no token and no id', () => {
    const copied = steps.filter(({ command }) => countCopied(command) + countHeaders(command) > 0);
    expect(copied.map(({ line }) => line)).toEqual([]);
  });

  it('have the outcomes of the first hour in the same order', async () => {
    expect(listMissing(await read('first-hour.md'))).toEqual([]);
    expect(listMissing(steps)).toEqual([]);
  });

  it('are as many and as long as the guide says', async () => {
    const own = steps.slice(
      0,
      steps.findIndex(({ command }) => command.includes('plinthctl listen')),
    );
    const before = measure(await read('first-hour.md'));
    const after = measure(own);
    const rows = [
      ...text.matchAll(
        /^\| (commands|characters in them|headers|ids, tokens and secrets to copy) \| ([\d,]+) \| ([\d,]+) \|$/gm,
      ),
    ];
    expect(Object.fromEntries(rows.map(([, name, ...figures]) => [name, figures]))).toEqual(
      Object.fromEntries(
        Object.entries(before).map(([name, figure]) => [name, [show(figure), show(after[name] ?? 0)]]),
      ),
    );
  });
});

const show = (figure: number): string => figure.toLocaleString('en');
const said = ({ answer }: Step): string => (answer?.text ?? '').replaceAll(/\s+/g, ' ');

/** The outcomes that no answer shows after those of the outcomes before it. */
function listMissing(all: readonly Step[]): RegExp[] {
  let at = -1;
  return outcomes.filter((outcome) => {
    const found = all.findIndex((step, index) => index > at && outcome.test(said(step)));
    if (found >= 0) at = found;
    return found < 0;
  });
}

/** What happens in the first hour, in the words of both guides. */
const outcomes = [
  /Tea shop/,
  /"closed_operations": \["delete"\]/,
  /"email": "eve@shop.example"/,
  /"email": "tom@shop.example"/,
  /colour/,
  /^{"items": \[\]/,
  /record_not_found/,
  /rule_denied/,
  /"margin": 1.2/,
  /"secrets": 2/,
  /"state": "sent"/,
  /"signature": "valid"/,
  /the delivery is not signed/,
  /status\/503\/tea/,
  /"item": "Teapot"/,
  /pending.*503/,
  /"target_url": "http:\/\/127.0.0.1:2600\/tea", …} ?$/,
  /"queued": true/,
  /"status": "delivered".*"status": "delivered"|has accepted everything/,
  /"name": "Tea expert"/,
  /"messages": \[\]/,
  /I have made a note of that/,
  /"kind": "user"/,
  /"name": "Tasks"/,
  /"conversation"|Tasks: revision 2, ready/,
  /http:\/\/tasks-/,
  /"sign_up": "open"/,
  /nora@example.com.*(mail)/,
  /Join Demo workspace/,
  /"user": {"email": "nora@example.com"/,
  /invitation.accepted/,
  /^whole|^Whole/,
  /BROKEN|audit_log_broken/,
  /workspace.tar.gz|"counts"/,
  /^1 ?$/,
];

const countHeaders = (command: string): number => command.match(/ -H /g)?.length ?? 0;
const countCopied = (command: string): number => command.match(/[\w-]…/g)?.length ?? 0;
const count = (steps: readonly Step[], measureOne: (command: string) => number): number =>
  steps.reduce((sum, { command }) => sum + measureOne(command), 0);

const measure = (steps: readonly Step[]): Record<string, number> => ({
  commands: steps.length,
  'characters in them': count(steps, (command) => command.trim().length),
  headers: count(steps, countHeaders),
  'ids, tokens and secrets to copy': count(steps, countCopied),
});
