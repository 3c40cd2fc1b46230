// Tests that the code rules find each vulnerable example and do not report its harmless twin.
import { describe, expect, it } from 'vitest';
import { type Files, findingsOf } from '../../../../test/support/code-findings.ts';
import { createAppReader } from './scan-file.ts';

const checked = `import { jwtVerify } from 'jose';
export async function requireUser(req) {
  const { payload } = await jwtVerify(req.headers.get('authorization')?.slice(7) ?? '', key);
  return payload;
}`;

/** A function that verifies its caller, so findings can only come from `body`, which starts on line 4. */
const handler = (body: string): Files => ({
  'functions/f.ts': `import { requireUser } from './lib/user.ts';
Deno.serve(async (request) => {
  await requireUser(request);
${body}
});`,
  'functions/lib/user.ts': checked,
});

const page = (body: string): Files => ({ 'src/pages/Home.tsx': body });

describe('values from the request', () => {
  it.each<[string, string, string]>([
    [
      'a template',
      "const q = new URL(request.url).searchParams.get('q');\nreturn db.query(`select 1 from t where a = '${q}'`);",
      'code.sql-injection functions/f.ts:5',
    ],
    [
      'a later assignment',
      "let where = 'where a = 1';\nconst { q } = await request.json();\nwhere = \"where a = '\" + q + \"'\";\nreturn db.execute('select 1 from t ' + where);",
      'code.sql-injection functions/f.ts:7',
    ],
    [
      'joined parts',
      "const body = await request.json();\nconst parts = ['select 1 from t where a = '];\nparts.push(body.name);\nreturn sql.unsafe(parts.join(''));",
      'code.sql-injection functions/f.ts:7',
    ],
    [
      'a helper',
      "const find = (name) => db.query(`select 1 from t where name = '${name}'`);\nconst { user } = await request.json();\nreturn find(user.name);",
      'code.sql-injection functions/f.ts:4',
    ],
    [
      'an alias of eval',
      'const run = eval;\nreturn run((await request.json()).code);',
      'code.code-injection functions/f.ts:5',
    ],
    [
      'a shell',
      "const { file } = await request.json();\nnew Deno.Command('sh', { args: ['-c', `convert ${file} out.png`] });",
      'code.command-injection functions/f.ts:5',
    ],
    [
      'a path',
      'const { name } = await request.json();\nreturn new Response(await Deno.readFile(`./files/${name}`));',
      'code.path-traversal functions/f.ts:5',
    ],
    [
      'an address',
      "const form = await request.formData();\nconst target = form.get('url');\nreturn fetch(target);",
      'code.ssrf functions/f.ts:6',
    ],
    [
      'a host by its prefix only',
      "const { url } = await request.json();\nif (!url.startsWith('https://api.example.com')) return new Response();\nreturn fetch(url);",
      'code.ssrf functions/f.ts:6',
    ],
    [
      'a redirect',
      "const { searchParams } = new URL(request.url);\nreturn Response.redirect(searchParams.get('to'));",
      'functions.unsafe-redirect functions/f.ts:5',
    ],
    [
      'an HTML answer',
      "const name = new URL(request.url).searchParams.get('name');\nreturn new Response(`<h1>Hello ${name}</h1>`, { headers: { 'content-type': 'text/html' } });",
      'code.xss-answer functions/f.ts:5',
    ],
    [
      'a name that only sounds safe',
      "const sanitize = (text) => text.trim();\nconst { name } = await request.json();\nreturn new Response('<p>' + sanitize(name), { headers: { 'content-type': 'text/html' } });",
      'code.xss-answer functions/f.ts:6',
    ],
    [
      'a secret in an object',
      "const settings = { mode: 'live', key: Deno.env.get('PAY_SECRET_KEY') };\nreturn Response.json({ ...settings });",
      'functions.secret-in-response functions/f.ts:5',
    ],
  ])('are found through %s', (_name, body, expected) => {
    expect(findingsOf(handler(body))).toEqual([expected]);
  });

  it.each<[string, string]>([
    [
      'parameters of a statement',
      "const { q } = await request.json();\nreturn db.query('select 1 from t where a = $1', [q]);",
    ],
    [
      'a number',
      'const id = Number(new URL(request.url).searchParams.get("id"));\nreturn db.query(`select 1 from t where id = ${id}`);',
    ],
    [
      'a list of columns',
      "const columns = new Set(['name', 'size']);\nconst { by } = await request.json();\nif (!columns.has(by)) return new Response();\nreturn db.query(`select 1 from t order by ${by}`);",
    ],
    [
      'a table of constants',
      "const orders = { new: 'created desc', old: 'created asc' };\nconst { by } = await request.json();\nreturn db.query(`select 1 from t order by ${orders[by] ?? 'id'}`);",
    ],
    [
      'a pattern',
      'const { slug } = await request.json();\nif (!/^[a-z0-9-]+$/.test(slug)) return new Response();\nreturn new Response(await Deno.readFile(`./files/${slug}.txt`));',
    ],
    [
      'the last part of a path',
      "const { name } = await request.json();\nreturn new Response(await Deno.readFile('./files/' + basename(name)));",
    ],
    [
      'a resolved path',
      'const { name } = await request.json();\nconst full = path.resolve(root, name);\nif (!full.startsWith(root + path.sep)) return new Response();\nreturn new Response(await Deno.readFile(full));',
    ],
    [
      'a list of hosts',
      "const { url } = await request.json();\nconst target = new URL(url);\nif (!['a.example', 'b.example'].includes(target.hostname)) return new Response();\nreturn fetch(target);",
    ],
    [
      'a check in a helper',
      "const assertAllowed = (url) => {\n  if (new URL(url).hostname !== 'api.example.com') throw new Error('host');\n};\nconst { url } = await request.json();\nassertAllowed(url);\nreturn fetch(url);",
    ],
    ['a fixed host', 'const { id } = await request.json();\nreturn fetch(`https://api.example.com/items/${id}`);'],
    [
      'own paths',
      "const next = new URL(request.url).searchParams.get('next') ?? '/';\nconst safe = next.startsWith('/') && !next.startsWith('//') ? next : '/';\nreturn new Response(null, { status: 302, headers: { Location: safe } });",
    ],
    [
      'escaped text',
      "const esc = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/\"/g, '&quot;');\nconst { name } = await request.json();\nreturn new Response(`<p>${esc(name)}</p>`, { headers: { 'content-type': 'text/html' } });",
    ],
    [
      'whether a secret is set',
      "return Response.json({ ready: Boolean(Deno.env.get('PAY_SECRET_KEY')), last: Deno.env.get('PAY_SECRET_KEY').slice(-4) });",
    ],
    [
      'a regular expression',
      'const found = /a(b+)/.exec((await request.json()).text);\nreturn Response.json({ found: found !== null });',
    ],
  ])('are harmless after %s', (_name, body) => {
    expect(findingsOf(handler(body))).toEqual([]);
  });
});

describe('pages', () => {
  it.each<[string, string, string]>([
    [
      'records as HTML',
      'export function Post({ post }) {\n  return <div dangerouslySetInnerHTML={{ __html: post.body }} />;\n}',
      'code.xss-html src/pages/Home.tsx:2',
    ],
    [
      'state as HTML',
      "export function Post() {\n  const [html, setHtml] = useState('');\n  useEffect(() => { fetch('/x').then((r) => r.text()).then(setHtml); }, []);\n  return <p dangerouslySetInnerHTML={{ __html: html }} />;\n}",
      'code.xss-html src/pages/Home.tsx:4',
    ],
    [
      'the address of the page',
      "const params = new URLSearchParams(window.location.search);\nconst go = () => {\n  location.assign(params.get('next') ?? '/');\n};\ngo();",
      'code.open-redirect src/pages/Home.tsx:3',
    ],
    [
      'messages',
      "window.addEventListener('message', ({ data }) => {\n  document.body.innerHTML = data.html;\n});",
      'code.xss-html src/pages/Home.tsx:2',
    ],
    [
      'list items',
      "const list = document.querySelector('ul');\nconst items = await entities.Task.list();\nlist.innerHTML = items.map((item) => `<li>${item.title}</li>`).join('');",
      'code.xss-html src/pages/Home.tsx:3',
    ],
    [
      'a weak token',
      'export const resetToken = () => {\n  return Math.random().toString(36);\n};',
      'code.weak-randomness src/pages/Home.tsx:2',
    ],
  ])('with %s are reported', (_name, body, expected) => {
    expect(findingsOf(page(body))).toEqual([expected]);
  });

  it.each<[string, string]>([
    [
      'cleaned HTML',
      'export function Post({ post }) {\n  const clean = DOMPurify.sanitize(post.body);\n  return <div dangerouslySetInnerHTML={{ __html: clean }} />;\n}',
    ],
    [
      'constant HTML',
      "const icon = '<svg></svg>';\nexport const Icon = () => <i dangerouslySetInnerHTML={{ __html: icon }} />;",
    ],
    [
      'numbers',
      "const total = document.querySelector('b');\nlet count = 0;\ncount += 1;\ntotal.innerHTML = `<b>${count}</b> of ${[1, 2].length}`;",
    ],
    ['text', "document.querySelector('h1').textContent = new URLSearchParams(location.search).get('q');"],
    [
      'own paths',
      "const next = new URLSearchParams(location.search).get('next');\nif (next && next.startsWith('/') && !next.startsWith('//')) location.href = next;",
    ],
    [
      'a checked message',
      "addEventListener('message', (event) => {\n  if (event.origin !== 'https://a.example') return;\n  show(event.data);\n});",
    ],
    [
      'ordinary randomness',
      'const angle = Math.random() * 360;\nexport const colour = () => Math.floor(Math.random() * 255);',
    ],
  ])('with %s are not', (_name, body) => {
    expect(findingsOf(page(body))).toEqual([]);
  });
});

describe('functions', () => {
  const service = "import { createClient } from 'npm:@plinth/sdk@1';\nconst app = createClient({}).asServiceRole;\n";
  it.each<[string, string, string]>([
    [
      'no check',
      'export default async (req) => {\n  await app.entities.Task.delete((await req.json()).id);\n  return new Response();\n};',
      'functions.no-caller-check functions/f.ts:4',
    ],
    [
      'a header that is only there',
      "export default async (req) => {\n  if (!req.headers.get('authorization')) return new Response(null, { status: 401 });\n  await app.entities.Task.delete(1);\n  return new Response();\n};",
      'functions.no-caller-check functions/f.ts:5',
    ],
    [
      'a check that comes too late',
      'export default async (req) => {\n  await app.entities.Task.delete(1);\n  const user = await client.auth.me();\n  if (!user) return new Response(null, { status: 401 });\n  return new Response();\n};',
      'functions.no-caller-check functions/f.ts:4',
    ],
    [
      'a webhook without its signature',
      "export default async (req) => {\n  const event = await req.json();\n  if (event.type === 'invoice.paid') await app.entities.Invoice.update(event.data.id, { paid: true });\n  return new Response();\n};",
      'functions.unverified-webhook functions/f.ts:5',
    ],
    [
      'any website',
      "const headers = (req) => ({\n  'Access-Control-Allow-Origin': req.headers.get('origin'),\n  'Access-Control-Allow-Credentials': 'true',\n});\nDeno.serve((req) => new Response('ok', { headers: headers(req) }));",
      'functions.open-cors functions/f.ts:4',
    ],
  ])('with %s are reported', (_name, body, expected) => {
    expect(findingsOf({ 'functions/f.ts': service + body })).toEqual([expected]);
  });

  it.each<[string, string]>([
    [
      'a signed-in user',
      'export default async (req) => {\n  const user = await client.auth.me();\n  if (!user) return new Response(null, { status: 401 });\n  await app.entities.Task.delete(1);\n  return new Response();\n};',
    ],
    [
      'a shared secret',
      "export default async (req) => {\n  if (req.headers.get('x-api-key') !== Deno.env.get('API_KEY')) return new Response(null, { status: 401 });\n  await app.entities.Task.delete(1);\n  return new Response();\n};",
    ],
    [
      'a check around it',
      'const signedIn = (inner) => async (req) => {\n  const user = await client.auth.me();\n  if (!user) return new Response(null, { status: 401 });\n  return inner(req, user);\n};\nDeno.serve(signedIn(async (req) => {\n  await app.entities.Task.delete(1);\n  return new Response();\n}));',
    ],
    [
      'a verified event',
      "export default async (req) => {\n  const event = await stripe.webhooks.constructEventAsync(await req.text(), req.headers.get('stripe-signature'), secret);\n  if (event.type === 'invoice.paid') await app.entities.Invoice.update(event.data.id, { paid: true });\n  return new Response();\n};",
    ],
    [
      'rights of the caller',
      "import { createClientFromRequest } from 'npm:@plinth/sdk@1';\nexport default async (req) => {\n  const mine = createClientFromRequest(req);\n  await mine.entities.Task.delete((await req.json()).id);\n  return new Response();\n};",
    ],
    [
      'a list of websites',
      "const allowed = ['https://a.example'];\nDeno.serve((req) => {\n  const origin = req.headers.get('origin') ?? '';\n  const headers = allowed.includes(origin) ? { 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true' } : {};\n  return new Response('ok', { headers });\n});",
    ],
  ])('with %s are not', (_name, body) => {
    expect(findingsOf({ 'functions/f.ts': service + body })).toEqual([]);
  });
});

describe('a finding', () => {
  it('shows at most ten lines, without secrets', () => {
    const reader = createAppReader();
    const key = 'a1B2'.repeat(10);
    const lines = Array.from({ length: 20 }, (_, at) => `  [${at}, '${key}'],`).join('\n');
    reader.program.add(
      'functions/f.ts',
      `export default async (req) => fetch((await req.json()).url, {\n  apiKey: '${key}', x: [\n${lines}\n]});`,
    );
    const [finding] = reader.read('functions/f.ts').staticCode;
    expect(finding?.item.snippet.split('\n')).toHaveLength(10);
    expect(finding?.item.snippet).not.toContain(key);
    expect(finding?.item.verdict).toBe('confirmed');
  });
});
