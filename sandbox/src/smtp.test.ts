// Tests the sandbox's inbox: JSON for programs, a page for browsers, and hostile mails that stay texts.
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { sendTestMail } from './send-test-mail.ts';
import { startMailSandbox } from './smtp.ts';

const mail = await startMailSandbox();
afterAll(() => mail.close());

const send = (to: string, ...lines: string[]) => sendTestMail(mail.smtpUrl, to, ...lines);
const open = (path: string, accept = 'text/html,application/xhtml+xml,*/*;q=0.8') =>
  fetch(new URL(path, mail.inboxUrl), { headers: { accept }, redirect: 'manual' });
const readPage = async (path: string) => (await open(path)).text();

it('says what will appear while it is empty, and how many mails it keeps', async () => {
  const page = await readPage('/inbox');
  expect(page).toContain('No mail yet');
  expect(page).toContain('No messages. The sandbox keeps the last 1,000, until it restarts.');
  expect((await open('/')).headers.get('location')).toBe('/inbox');
  expect((await open('/elsewhere')).status).toBe(404);
});

it('gives programs the same JSON whatever the path, newest last', async () => {
  await send('ann@example.com', 'From: plinth@example.com', 'Subject: First', '', 'One');
  await send('ben@example.com', 'From: plinth@example.com', 'Subject: Second', '', 'Two');
  const first = { to: ['ann@example.com'], from: 'plinth@example.com', subject: 'First', text: 'One\n' };
  const second = { to: ['ben@example.com'], from: 'plinth@example.com', subject: 'Second', text: 'Two\n' };
  for (const accept of ['*/*', 'application/json', 'application/json, text/plain, */*']) {
    const response = await open('/inbox', accept);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.text()).toBe(JSON.stringify([first, second]));
  }
  expect(await (await open('/inbox?to=ben@example.com', '*/*')).json()).toEqual([second]);
  expect(await (await open('/', '*/*')).json()).toEqual(mail.inbox);
});

it('shows browsers the newest mail first, and those to one address', async () => {
  const page = await readPage('/inbox');
  expect(page).toContain('2 messages, newest first.');
  expect(page.indexOf('<h2>Second</h2>')).toBeLessThan(page.indexOf('<h2>First</h2>'));
  expect(page).toContain('href="/inbox?to=ann%40example.com"');
  const filtered = await readPage('/inbox?to=ann@example.com');
  expect(filtered).toContain('<h2>First</h2>');
  expect(filtered).not.toContain('<h2>Second</h2>');
  expect(await readPage('/inbox?to=%22%3E%3Cscript%3E')).toContain('value="&#34;&#62;&#60;script&#62;"');
  expect(await readPage('/inbox?to=')).toContain('2 messages');
});

it('allows its page nothing but its own style and script', async () => {
  const { headers } = await open('/inbox');
  expect(headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src data:; script-src 'sha256-[\w+/=]+'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  );
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(headers.get('vary')).toBe('accept');
});

it('escapes the markup of a mail, links its web addresses, and serves its HTML part where it can do nothing', async () => {
  await send(
    "a&b'c@example.com",
    'From: "<i>" <evil@example.com>',
    'Subject: <img src=x onerror=alert(1)>',
    'Content-Type: multipart/alternative; boundary=part',
    '',
    '--part',
    'Content-Type: text/plain',
    '',
    '</p><script>alert(2)</script> https://a.example/x#y. javascript:alert(3)',
    '--part',
    'Content-Type: text/html',
    '',
    '<p>Rich</p><script>alert(4)</script>',
    '--part--',
  );
  const page = await readPage('/inbox');
  expect(page).toContain('<h2>&#60;img src=x onerror=alert(1)&#62;</h2>');
  expect(page).toContain('&#60;/p&#62;&#60;script&#62;alert(2)&#60;/script&#62;');
  expect(page).toContain('<a href="https://a.example/x#y" target="_blank" rel="noreferrer noopener">');
  expect(page).toContain('<a href="/inbox?to=a%26b&#39;c%40example.com">a&#38;b&#39;c@example.com</a>');
  expect(page).not.toMatch(/href="javascript:|<img|alert\(4\)/);
  expect(page.match(/<script/g)).toHaveLength(1);
  const path = /<iframe src="([^"]+)" title="[^"]*" sandbox loading="lazy">/.exec(page)?.[1] ?? '';
  const part = await open(path);
  expect(await part.text()).toContain('<p>Rich</p>');
  expect(part.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none';/);
  expect((await open('/inbox/1/html')).status).toBe(404); // has no HTML part
});

it('keeps the last 1,000 mails, and shows the newest 100', async () => {
  const socket = connect(Number(new URL(mail.smtpUrl).port), '127.0.0.1').setEncoding('utf8');
  // One connection sends all of them without waiting for the replies.
  await once(socket, 'data');
  socket.resume();
  for (let index = 1; index <= 1_000; index += 1)
    socket.write(
      `${index === 1 ? 'EHLO test\r\n' : ''}MAIL FROM:<plinth@example.com>\r\nRCPT TO:<many@example.com>\r\nDATA\r\nSubject: Number ${index}\r\n\r\n.\r\n`,
    );
  await expect.poll(() => mail.inbox.at(-1)?.subject).toBe('Number 1000');
  socket.end('QUIT\r\n');
  expect(mail.inbox).toHaveLength(1_000);
  expect(mail.inbox[0]?.subject).toBe('Number 1');
  const page = await readPage('/inbox');
  expect(page).toContain('1,000 messages, of which the newest 100 are shown. The sandbox keeps the last 1,000');
  expect(page.match(/<li /g)).toHaveLength(100);
});
